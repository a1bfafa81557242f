"""A judge behind an OpenAI-compatible endpoint that fails in every way, run as a process of its own.

    python judge_server.py READY_FILE SHARE_OF_FAULTS LATENCY_S SLOW_S

It honours Idempotency-Key as the IETF draft describes: a key is generated and billed once, its reply
is given again to whoever asks with it, and 409 while it is being made. GET /counts tells what
was asked and sold. Which calls fail, and how, follows from their keys.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAULTS = ("slow", "dropped", "malformed", "limited", "broken", "garbled", "cut", "missing")
"""slow to malformed: billed, and the reply does not arrive; limited, broken: refused unbilled;
garbled to missing: what the model itself spoils."""

ITEM = re.compile(r"Question: (\S+)")
ANCHOR = re.compile(r"^(\d+)\. \(\w+\) (\S+)", re.MULTILINE)


@dataclass
class Sold:
    """What one key was billed for."""

    body: bytes
    pairs: list[str]
    """Pairs that the reply rates."""


@dataclass
class Judge:
    """The state of the endpoint."""

    share: float
    latency_s: float
    slow_s: float
    sold: dict[str, Sold] = field(default_factory=dict)
    making: set[str] = field(default_factory=set)
    tries: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    open_calls: int = 0

    async def answer(self, key: str, body: bytes) -> tuple[int, bytes, str]:
        """Return code, body and Retry-After of one call; no code means: hang up."""
        self.counts["calls"] += 1
        self.tries[key] += 1
        fault = self.fault_of(key)
        if key in self.sold:
            # an endpoint without such keys would have billed this call a second time
            self.counts["given again"] += 1
            await asyncio.sleep(self.latency_s)
            return 200, self.sold[key].body, ""
        if key in self.making:
            self.counts["still being made"] += 1
            return 409, b'{"error": {"message": "still being made"}}', "3"
        if fault in ("limited", "broken") and self.tries[key] == 1:
            self.counts[fault] += 1
            return (429, b'{"error": {"message": "slow down"}}', "0.1") if fault == "limited" else (
                500, b'{"error": {"message": "no"}}', "")  # fmt: skip
        self.making.add(key)
        self.counts[fault or "good"] += 1
        await asyncio.sleep(self.slow_s if fault == "slow" else self.latency_s)
        sold = self.make(json.loads(body), fault)
        self.making.discard(key)
        self.sold[key] = sold
        self.counts["billed"] += 1
        if fault == "dropped":
            return 0, b"", ""
        return 200, sold.body[:-40] if fault == "malformed" else sold.body, ""

    def fault_of(self, key: str) -> str:
        """Choose by its key how a call fails."""
        draw = int(hashlib.sha256(key.encode()).hexdigest()[:12], 16)
        return FAULTS[draw % len(FAULTS)] if (draw >> 8) % 10_000 < self.share * 10_000 else ""

    def make(self, request: dict[str, Any], fault: str) -> Sold:
        """Rate every anchor of a request by a hash of the pair."""
        prompt = request["messages"][-1]["content"]
        item = ITEM.search(prompt)
        asked = [(number, f"{item[1] if item else ''} {name}") for number, name in ANCHOR.findall(prompt)]
        if fault == "missing":
            asked = asked[1:]
        rated = {number: {"evidence": "", "rating": rating_of(pair)} for number, pair in asked}
        text = json.dumps(rated)
        if fault == "garbled":
            text, asked = "I would rather not say.", []
        if fault == "cut":
            # in the middle of the first entry
            text, asked = text[:12], []
        choice = {"message": {"role": "assistant", "content": text},
                  "finish_reason": "length" if fault == "cut" else "stop"}  # fmt: skip
        document = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
        return Sold(json.dumps(document).encode(), [pair for _, pair in asked])

    def tell(self) -> bytes:
        """Count what was asked and sold."""
        pairs = Counter(pair for sold in self.sold.values() for pair in sold.pairs)
        told = {
            "counts": dict(self.counts),
            "keys": len(self.tries),
            "most_tries": max(self.tries.values(), default=0),
            "open": self.open_calls,
            "pairs": len(pairs),
            "pairs_sold_twice": sum(count > 1 for count in pairs.values()),
        }
        return json.dumps(told).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.split("\r\n")
                headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines) if n}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                if first.startswith("GET"):
                    code, sent, retry = 200, self.tell(), ""
                else:
                    self.open_calls += 1
                    self.counts["most open"] = max(self.counts["most open"], self.open_calls)
                    # a client that goes away stops nothing: what was begun is billed
                    key = headers.get("idempotency-key") or hashlib.sha256(body).hexdigest()
                    code, sent, retry = await asyncio.shield(self.answer(key, body))
                    self.open_calls -= 1
                if not code:
                    break
                more = f"Retry-After: {retry}\r\n" if retry else ""
                start = f"HTTP/1.1 {code} X\r\nContent-Type: application/json\r\n{more}"
                writer.write(f"{start}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def rating_of(pair: str) -> int:
    """Rate a pair, "item anchor", 0 to 4."""
    return hashlib.sha256(pair.encode()).digest()[0] % 5


async def main() -> None:
    """Serve on a free port until killed."""
    ready, share, latency_s, slow_s = sys.argv[1:]
    judge = Judge(float(share), float(latency_s), float(slow_s))
    server = await asyncio.start_server(judge.serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
    part = Path(ready + ".part")
    part.write_text(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    part.rename(ready)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

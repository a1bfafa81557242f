"""A scripted chat endpoint on 127.0.0.1 that can fail in every way a real one does.

Nothing here hangs on a clock: a reply that must not come yet is held until the test says so.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kina_build.chat import Endpoint


@dataclass(frozen=True)
class Served:
    """What the endpoint sends for one call."""

    body: Any = ""
    """A JSON value, or bytes sent as they are."""
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    held: bool = False
    """Not sent before the endpoint's `released` is set, or its block ends."""


def said(text: str | None, finish: str = "stop", **message: Any) -> Served:
    """Serve a completion with this text; more fields of the message by name."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish,
    }
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    named = {"id": "c", "object": "chat.completion", "model": "scripted"}
    return Served({**named, "choices": [choice], "usage": usage})


def failed(code: int, text: str = "no", **headers: str) -> Served:
    """Serve an HTTP error; retry_after="1" becomes the header Retry-After."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Served({"error": {"message": text, "type": "error"}}, code, names)


EMPTY = said("")
REFUSED = said(None, refusal="I will not.")
REASONING_ONLY = said("", reasoning_content="It might be B.")
CUT = said("The answer", finish="length")
MALFORMED = Served(b'{"choices": [{"mess')
NO_CHOICES = Served({"object": "chat.completion", "choices": []})
RATE_LIMITED = failed(429, "slow down", retry_after="0")
SERVER_ERROR = failed(500)
LOADING = failed(503, "loading model")
UNAUTHORISED = failed(401, "bad key")
BAD_REQUEST = failed(400, "unknown parameter")
SLOW = Served(said("late").body, held=True)

Script = Callable[[str, int], Served]
"""(text of the last message, how many times it was asked before) -> what to send."""


@dataclass
class ScriptedEndpoint:
    """A running scripted endpoint: where it is and what it was asked."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of all calls, in the order of arrival."""
    keys: set[str] = field(default_factory=set)
    """Authorization headers seen."""
    request_keys: list[str | None] = field(default_factory=list)
    """Idempotency-Key of all calls, in the order of arrival."""
    open_calls: int = 0
    most_open: int = 0
    """Calls that were open at once, at most."""
    released: threading.Event = field(default_factory=threading.Event)
    """Set it to send the replies that are held."""

    @property
    def prompts(self) -> Counter[str]:
        """Count calls by the text of their last message."""
        return Counter(
            body["messages"][-1]["content"] if "messages" in body else body["prompt"] for body in self.asked
        )

    def endpoint(self, api_key: str = "sk-secret") -> Endpoint:
        """Return how the program reaches it."""
        return Endpoint(self.url, api_key)


@contextmanager
def scripted(script: Script) -> Iterator[ScriptedEndpoint]:
    """Run a scripted endpoint on a free port of 127.0.0.1 while the block lasts."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
            with lock:
                times = state.prompts[prompt]
                state.asked.append(body)
                state.request_keys.append(self.headers.get("Idempotency-Key"))
                state.keys.add(self.headers.get("Authorization", ""))
                state.open_calls += 1
                state.most_open = max(state.most_open, state.open_calls)
            served = script(prompt, times)
            if served.held:
                state.released.wait()
            with lock:
                state.open_calls -= 1
            self.send(served)

        def send(self, served: Served) -> None:
            body = served.body if isinstance(served.body, bytes) else json.dumps(served.body).encode()
            try:
                self.send_response(served.code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in served.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the client gave up waiting
                pass

        def log_message(self, *_: Any) -> None:
            """Say nothing: the tests look at `asked`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = ScriptedEndpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def nobody() -> Iterator[str]:
    """Keep a port of 127.0.0.1 on which nobody listens while the block lasts; yield its base URL."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{kept.getsockname()[1]}/v1"

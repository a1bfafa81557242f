"""The Batch API in OpenAI's form, against a server that keeps files and batches in memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.chat import ChatRequest, Endpoint, Meter, ReplyLog
from kina_build.chat.batchapi import complete_by_batch
from kina_build.config import ChatRules
from kina_build.errors import InputError, UsageError
from tests.servers import said

Kina = Callable[..., Result]


@dataclass
class Provider:
    """What a provider keeps; a batch ends at the second look at it."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: int = 0
    end: str = "completed"
    refuses: bool = False

    def make(self, asked: dict[str, Any]) -> dict[str, Any]:
        batch = {
            "id": f"batch_{len(self.batches)}", "object": "batch", "status": "in_progress", "created_at": 0,
            "completion_window": "24h", "endpoint": asked["endpoint"], "metadata": asked.get("metadata"),
            "input_file_id": asked["input_file_id"],
            "request_counts": {"total": 2, "completed": 0, "failed": 0},
        }  # fmt: skip
        return self.batches.setdefault(batch["id"], batch)

    def look(self, batch_id: str) -> dict[str, Any]:
        self.looks += 1
        batch = self.batches[batch_id]
        if self.looks % 2 == 0 and batch["status"] == "in_progress":
            batch["status"] = self.end
            if self.end == "completed":
                self.answer(batch)
            else:
                batch["errors"] = {"object": "list", "data": [{"message": "bad model", "code": "x"}]}
        return batch

    def answer(self, batch: dict[str, Any]) -> None:
        out, errors = [], []
        for line in self.files[batch["input_file_id"]].decode().splitlines():
            call = json.loads(line)
            assert (call["method"], call["url"]) == ("POST", "/v1/chat/completions")
            prompt = call["body"]["messages"][-1]["content"]
            if prompt == "bad":
                body = {"error": {"message": "no such parameter"}}
                row = {"response": {"status_code": 400, "body": body}, "error": None}
                errors.append({"custom_id": call["custom_id"], **row})
            elif prompt != "lost":
                body = said(f"Answer to {prompt}").body
                out.append({"custom_id": call["custom_id"], "response": {"status_code": 200, "body": body}})
        for name, rows in (("output_file_id", out), ("error_file_id", errors)):
            if rows:
                batch[name] = f"{batch['id']}-{name}"
                batch["request_counts"]["failed" if name == "error_file_id" else "completed"] = len(rows)
                self.files[batch[name]] = "".join(json.dumps(row) + "\n" for row in rows).encode()


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            if provider.refuses:
                self.send(404, json.dumps({"error": {"message": "no such path"}}).encode())
            elif self.path == "/v1/files":
                head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
                parts = {
                    part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
                    for part in BytesParser().parsebytes(head + raw).get_payload()
                }
                assert parts["purpose"] == b"batch"
                file_id = f"file_{len(provider.files)}"
                provider.files[file_id] = parts["file"]
                self.send(200, json.dumps({"id": file_id, "object": "file", "bytes": len(parts["file"]),
                                           "created_at": 0, "filename": "x", "purpose": "batch",
                                           "status": "processed"}).encode())  # fmt: skip
            else:
                self.send(200, json.dumps(provider.make(json.loads(raw))).encode())

        def do_GET(self) -> None:
            name = self.path.partition("?")[0].removeprefix("/v1/")
            if provider.refuses:
                self.send(404, json.dumps({"error": {"message": "no such path"}}).encode())
            elif name == "batches":
                listed = {"object": "list", "data": list(provider.batches.values()), "has_more": False}
                self.send(200, json.dumps(listed).encode())
            elif name.startswith("batches/"):
                self.send(200, json.dumps(provider.look(name.removeprefix("batches/"))).encode())
            else:
                self.send(200, provider.files[name.removeprefix("files/").removesuffix("/content")])

        def send(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def ask(*texts: str) -> list[ChatRequest]:
    return [ChatRequest(model="m", messages=({"role": "user", "content": text},)) for text in texts]


def run(provider: Provider, log: ReplyLog, *texts: str, **more: Any) -> list[tuple[str, str]]:
    replies = complete_by_batch(ask(*texts), Endpoint(provider.url, "sk"), log, poll_s=0.01, **more)
    return [(reply.status, reply.text or (reply.error or "")) for reply in replies]


def test_all_calls_are_one_batch_and_are_never_made_again(tmp_path: Path) -> None:
    path, meter = tmp_path / "log.jsonl", Meter()
    with serving() as provider:
        first = run(provider, ReplyLog(path), "a", "b", "a", meter=meter)
        assert first == [("ok", "Answer to a"), ("ok", "Answer to b"), ("ok", "Answer to a")]
        assert (len(provider.batches), meter.calls) == (1, 2)
        assert run(provider, ReplyLog(path), "a", "b") == first[:2]
        assert len(provider.batches) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["log.jsonl"]


def test_failed_and_lost_calls_say_why_and_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with serving() as provider:
        told = run(provider, ReplyLog(path), "a", "bad", "lost")
        assert told == [
            ("ok", "Answer to a"),
            ("bad_request", "no such parameter"),
            ("not_sent", "the batch batch_0 is completed"),
        ]
        run(provider, ReplyLog(path), "a", "bad", "lost")
        assert len(provider.batches) == 2
        again = provider.files[provider.batches["batch_1"]["input_file_id"]].decode().splitlines()
        assert [json.loads(line)["body"]["messages"][0]["content"] for line in again] == ["bad", "lost"]
        run(provider, ReplyLog(path), "bad")
        run(provider, ReplyLog(path), "bad")  # came to its end without an answer: made again
        assert len(provider.batches) == 4


def test_a_run_that_was_stopped_goes_on_with_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once with the file beside the log, once without it, as after a crash between two steps."""
    from kina_build.chat import batchapi

    path = tmp_path / "log.jsonl"
    wait = batchapi._wait

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with serving() as provider:
        for forgets in (False, True):
            monkeypatch.setattr(batchapi, "_wait", stop)
            with pytest.raises(KeyboardInterrupt):
                run(provider, ReplyLog(path), f"a{forgets}")
            [state] = tmp_path.glob("log.jsonl.batch-*.json")
            if forgets:
                state.unlink()
            made = len(provider.batches)
            monkeypatch.setattr(batchapi, "_wait", wait)
            assert run(provider, ReplyLog(path), f"a{forgets}") == [("ok", f"Answer to a{forgets}")]
            assert len(provider.batches) == made


def test_a_batch_under_way_with_other_calls_is_not_given_up_unseen(tmp_path: Path) -> None:
    with serving() as provider:
        log = ReplyLog(tmp_path / "log.jsonl")
        state = tmp_path / "log.jsonl.batch-62c66a7a.json"
        state.write_text('{"batch_id": "batch_9", "calls": "other"}')
        with pytest.raises(InputError, match="a batch with other calls is under way"):
            run(provider, log, "a")
        assert provider.batches == {}


def test_a_batch_that_fails_leaves_its_calls_unsent(tmp_path: Path) -> None:
    with serving() as provider:
        provider.end = "failed"
        told = run(provider, ReplyLog(tmp_path / "log.jsonl"), "a")
        assert told == [("not_sent", "the batch batch_0 is failed: bad model")]
        provider.end = "completed"
        assert run(provider, ReplyLog(tmp_path / "log.jsonl"), "a") == [("ok", "Answer to a")]


def test_an_endpoint_without_batches_and_a_cap_are_one_line(tmp_path: Path) -> None:
    with serving() as provider:
        log = ReplyLog(tmp_path / "log.jsonl")
        with pytest.raises(UsageError, match="2 calls is above the cap of 1"):
            run(provider, log, "a", "b", rules=ChatRules(max_calls=1))
        with pytest.raises(UsageError, match="cannot be stopped at"):
            run(provider, log, "a", rules=ChatRules(max_cost=1.0))
        provider.refuses = True
        with pytest.raises(InputError, match="the endpoint does not list its batches"):
            run(provider, log, "a")
    with pytest.raises(UsageError, match="a log on disk"):
        complete_by_batch(ask("a"), Endpoint("http://x.invalid"), ReplyLog())


def test_command_by_batch(kina: Kina, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kina_build.chat import batchapi

    monkeypatch.setattr(batchapi.complete_by_batch, "__kwdefaults__",
                        batchapi.complete_by_batch.__kwdefaults__ | {"poll_s": 0.01})  # fmt: skip
    row = {"id": "q1", "question": "Which?", "choices": ["cats", "dogs"], "answer": "B"}
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "test.jsonl").write_text(json.dumps(row) + "\n")
    with serving() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        line = ("run", "--release", "release", "--model", "m", "-o", "r.jsonl", "--samples", "2", "--batch")
        ran = kina(*line, "--json")
        assert ran.exit_code == 0, ran.stderr
        assert (json.loads(ran.stdout)["answered"], len(provider.batches)) == (2, 1)

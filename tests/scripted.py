"""A language model that says what a test wants it to: OpenAI's API on loopback, by a script."""

import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from remembrancer import Remembrancer
from remembrancer.settings import ExtractionSettings, LanguageModelSettings

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer of the endpoint; ``text`` is what the model says."""

    text: str = ""
    status: int = 200
    finish: str = "stop"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    raw: bytes | None = None
    """Sent instead of a completion."""
    calls: Sequence[tuple[str, Json | str]] = ()
    """Tools that the model calls, each with its arguments."""
    breaks: bool = False
    """The connection ends in the middle of the stream."""
    hangs: bool = False
    """The stream comes to its middle, and no further."""


Script = Callable[[Json], Reply]


def answer(summary: str = "", *facts: Json, **reply: Any) -> Reply:
    """A well-formed answer with a summary and facts."""
    return Reply(json.dumps({"summary": summary, "facts": facts}), **reply)


def fact(content: str, about: str, *lines: int, **fields: Any) -> Json:
    """A fact as a model writes it."""
    return {
        "content": content,
        "about": about,
        "subject": None,
        "category": "other",
        "kind": "fact",
        "lines": lines,
        "updates": None,
        "valid_from": None,
        "valid_to": None,
    } | fields


class Scripted:
    """The endpoint. It answers by ``script``, a function or replies in turn, and keeps requests."""

    def __init__(self) -> None:
        self.requests: list[Json] = []
        self.said: Sequence[Reply] | Script = []
        self.reached = threading.Event()
        """Set with the first request."""
        self.hanging = threading.Event()
        """Set when a stream has come to its middle and hangs."""
        self.left_alone = threading.Event()
        """Set when the reader of a stream that hangs has gone."""
        self._stopped = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                endpoint.reached.set()
                reply = endpoint._next(body)
                if reply.delay and endpoint._stopped.wait(reply.delay):
                    return
                if body.get("stream") and reply.status == 200 and reply.raw is None:
                    if reply.hangs:
                        endpoint._hang(self, reply, body)
                    else:
                        _stream(self, reply, body)
                    return
                sent = reply.raw if reply.raw is not None else _completion(reply, body)
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(sent)))
                    self.end_headers()
                    self.wfile.write(sent)
                except OSError:
                    self.close_connection = True

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def asked(self) -> list[str]:
        """What the model was asked in each request, without its instructions."""
        return [
            "\n".join(m["content"] for m in one["messages"] if m["role"] == "user")
            for one in self.requests
        ]

    def close(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _hang(self, handler: BaseHTTPRequestHandler, reply: Reply, body: Json) -> None:
        """Stream the first half, and wait until its reader is gone, who may go in the middle."""
        with suppress(ConnectionError):
            _stream(handler, reply, body)
            self.hanging.set()
            handler.connection.settimeout(120)
            handler.connection.recv(1)
        self.left_alone.set()

    def _next(self, body: Json) -> Reply:
        if callable(self.said):
            return self.said(body)
        at = len(self.requests) - 1
        return self.said[min(at, len(self.said) - 1)] if self.said else answer()


@asynccontextmanager
async def minded(
    memory: Remembrancer,
    base_url: str,
    *,
    extraction: ExtractionSettings | None = None,
    **llm: Any,
) -> AsyncIterator[Remembrancer]:
    """The services over the same store, with the model at an address behind them."""
    settings = memory.settings.model_copy(
        update={
            "llm": LanguageModelSettings(
                **{"model": "openai:scripted", "base_url": base_url, "timeout": 60, **llm}
            ),
            "extraction": extraction or memory.settings.extraction,
        }
    )
    minds = Remembrancer(settings, memory.database, memory.embedder)
    assert minds.language_model is not None
    yield minds
    await minds.language_model.close()


def _stream(handler: BaseHTTPRequestHandler, reply: Reply, body: Json) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    events = _events(reply, body)
    handler.close_connection = reply.breaks or reply.hangs
    if handler.close_connection:
        events = events[: len(events) // 2]
    for event in events:
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
    if not handler.close_connection:
        handler.wfile.write(b"0\r\n\r\n")


def _calls(reply: Reply) -> list[Json]:
    return [
        {
            "index": at,
            "id": f"call-{at}-{name}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for at, (name, given) in enumerate(reply.calls)
    ]


def _pieces(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def _events(reply: Reply, body: Json) -> list[bytes]:
    """A completion as events: the text in pieces, then each call, its arguments in pieces."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(reply.text)]
    for call in _calls(reply):
        function = call["function"]
        deltas.append({"tool_calls": [call | {"function": function | {"arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]}
            for piece in _pieces(function["arguments"])
        ]
    choices: list[list[Json]] = [
        [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
    ]
    finish = "tool_calls" if reply.calls else reply.finish
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish}])
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": int(time.time())}
    events = [json.dumps({**chunk, "model": body["model"], "choices": one}) for one in choices]
    return [f"data: {event}\n\n".encode() for event in [*events, "[DONE]"]]


def _completion(reply: Reply, body: Json) -> bytes:
    if reply.status != 200:
        return json.dumps({"error": {"message": reply.text, "type": "scripted"}}).encode()
    message: Json = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    finish = "tool_calls" if reply.calls else reply.finish
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    ).encode()

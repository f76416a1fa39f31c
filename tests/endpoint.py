"""A scripted HTTP endpoint on loopback."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

Answer = tuple[int, dict[str, str], Any]
"""Status, headers, and the body: bytes, an iterator of pieces, or what is written as JSON."""
Step = Answer | Callable[[dict[str, Any]], Answer]


class Endpoint:
    """Answers in the order of its script, then as ``proper`` does."""

    def __init__(self, url: str, proper: Callable[[dict[str, Any]], Answer]) -> None:
        self.url = url
        self.script: list[Step] = []
        self.bodies: list[dict[str, Any]] = []
        """What was sent, with the path."""
        self.headers: list[dict[str, str]] = []
        self._proper = proper

    def answer(self, body: dict[str, Any]) -> Answer:
        step = self.script.pop(0) if self.script else self._proper
        return step(body) if callable(step) else step


@contextmanager
def listening(proper: Callable[[dict[str, Any]], Answer]) -> Iterator[Endpoint]:
    """An endpoint that listens until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            is_form = "form" in (self.headers["Content-Type"] or "")
            self.respond(dict(parse_qsl(content.decode())) if is_form else json.loads(content))

        def do_GET(self) -> None:
            self.respond({})

        def respond(self, body: dict[str, Any]) -> None:
            sent = {"path": self.path, **body}
            endpoint.bodies.append(sent)
            endpoint.headers.append(dict(self.headers))
            status, headers, answer = endpoint.answer(sent)
            # A client that gave up waiting is part of the play.
            with suppress(ConnectionError):
                self.send_response(status)
                if not isinstance(answer, Iterator):
                    content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                    headers, answer = {"Content-Length": str(len(content)), **headers}, [content]
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in answer:
                    self.wfile.write(piece)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        endpoint = Endpoint(f"http://127.0.0.1:{server.server_address[1]}", proper)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield endpoint
        finally:
            server.shutdown()
            thread.join()


def dripping() -> Iterator[bytes]:
    """An answer that comes byte by byte, and never to its end."""
    while True:
        time.sleep(0.02)
        yield b" "

"""A scripted HTTP endpoint on loopback."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], Any]
"""Status, headers, and the bytes of the body or what is to be written as JSON."""
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
            self.respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def do_GET(self) -> None:
            self.respond({})

        def respond(self, body: dict[str, Any]) -> None:
            sent = {"path": self.path, **body}
            endpoint.bodies.append(sent)
            endpoint.headers.append(dict(self.headers))
            status, headers, answer = endpoint.answer(sent)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            # A client that gave up waiting is part of the play.
            with suppress(ConnectionError):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

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

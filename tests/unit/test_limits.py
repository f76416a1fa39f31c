"""What a request may weigh, and how many a key may send."""

from typing import Any

import pytest

from remembrancer.api.limits import Front, RateLimit
from remembrancer.errors import TooManyRequests
from remembrancer.settings import LimitSettings


class Clock:
    """A clock that stands still until it is moved."""

    now = 30.0

    def __call__(self) -> float:
        return self.now


def test_a_key_has_its_share_of_each_minute() -> None:
    """The share is refused from one over it, with the seconds to wait, and comes back."""
    clock = Clock()
    limit = RateLimit(3, clock=clock)
    for _ in range(3):
        limit.count("a")
    with pytest.raises(TooManyRequests) as refused:
        limit.count("a")
    assert refused.value.extra["retry_after"] == 30
    limit.count("b")
    clock.now = 60.0
    limit.count("a")


def test_no_limit_is_no_limit() -> None:
    """Zero counts nothing."""
    limit = RateLimit(0)
    for _ in range(1000):
        limit.count("a")


async def _sent(announced: bytes | None, pieces: list[bytes], path: str = "/") -> tuple[int, int]:
    """The status that a body is answered with, and how many bytes of it the app read."""
    read = 0
    statuses: list[int] = []
    waiting = [*pieces]

    async def receive() -> Any:
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal read
        more = True
        while more:
            message = await receive()
            read += len(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})

    headers = [] if announced is None else [(b"content-length", announced)]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    try:
        await Front(app, LimitSettings.model_construct(body_bytes=10, upload_bytes=20))(
            scope, receive, send
        )
    except Exception as error:
        statuses.append(error.status_code)  # type: ignore[attr-defined]
    return statuses[0], read


@pytest.mark.parametrize(
    ("announced", "pieces", "status"),
    [
        (b"10", [b"x" * 10], 200),
        (b"11", [b"x" * 11], 413),
        (None, [b"x" * 6, b"x" * 4], 200),
        (None, [b"x" * 6, b"x" * 6], 413),
        (b"3", [b"x" * 6, b"x" * 6], 413),
        (b"nonsense", [b"x" * 10], 200),
        (b"\xb2", [b"x"], 200),
    ],
)
async def test_a_body_is_weighed_as_it_is_read(
    announced: bytes | None, pieces: list[bytes], status: int
) -> None:
    """Whatever length was announced, no more than the limit is taken in."""
    answered, read = await _sent(announced, pieces)
    assert answered == status
    assert read <= 10


@pytest.mark.parametrize(("size", "status"), [(20, 200), (21, 413)])
async def test_a_page_that_takes_a_file_has_a_limit_of_its_own(size: int, status: int) -> None:
    """The page answers what is over it itself, so that it can say so in words."""
    path = "/people/1/start/history"
    answered, read = await _sent(str(size).encode(), [b"x"] * size, path)
    assert (answered, read) == (status, 20 if status == 200 else 0)

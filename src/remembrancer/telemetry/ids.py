"""Ids of the request or job in work, and of who asks. Log lines and traces have them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_IDS: Final[ContextVar[dict[str, str] | None]] = ContextVar("remembrancer_ids", default=None)


@contextmanager
def bound(**ids: str) -> Iterator[None]:
    """Give ids to what is done inside, and to the tasks that start there."""
    token = _IDS.set(ids)
    try:
        yield
    finally:
        _IDS.reset(token)


def bind(**ids: object) -> None:
    """Add ids to those of the request or job, if there is one. Null is no id."""
    if (known := _IDS.get()) is not None:
        known.update((name, str(value)) for name, value in ids.items() if value is not None)


def bound_ids() -> Mapping[str, str]:
    """Return the ids of the request or job; none outside of both."""
    return _IDS.get() or {}

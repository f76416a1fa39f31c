"""Spans: named parts of the work, whose durations are metrics and traces.

Without an observer, as in a library, nothing is measured.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from types import TracebackType
from typing import Final, Literal, ParamSpec, Protocol, TypeVar

from remembrancer.errors import RemembrancerError, UserMerged

P = ParamSpec("P")
T = TypeVar("T")

Name = Literal[
    "request",
    "job",
    "recall",
    "recall.dense",
    "recall.keyword",
    "recall.graph",
    "recall.rerank",
    "recall.rank",
    "embedding",
    "llm",
    "database.wait",
    "database.connection",
    "database.trip",
]
"""The names, which are labels of metrics: few, and none of them from outside."""
Outcome = Literal["ok", "refused", "cancelled", "error"]
Attribute = str | int | float | bool


class Span:
    """A part of the work. Attributes are ids, names and counts, never content."""

    __slots__ = ("_began", "_begun", "attributes", "error", "name", "parent", "seconds", "title")

    def __init__(self, name: Name, attributes: dict[str, Attribute], parent: str | None) -> None:
        self.name = name
        self.attributes = attributes
        self.parent = parent
        """The header ``traceparent`` of a request."""
        self.title: str = name
        """Its name in a trace."""
        self.error: str | None = None
        """The kind of its error, without the message."""
        self.seconds = 0.0
        self._begun: list[tuple[Observer, object]] = []
        self._began = 0.0

    def note(self, **attributes: Attribute) -> None:
        """Add attributes; underscores in their names become dots."""
        self.attributes |= {name.replace("_", "."): value for name, value in attributes.items()}

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        if self.error in {None, "refused", "cancelled"}:
            return self.error or "ok"  # type: ignore[return-value]
        return "error"

    def __enter__(self) -> "Span":
        """Begin."""
        self._begun = [(observer, observer.began(self)) for observer in _observers]
        self._began = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, with the kind of the error that ended it, if any."""
        self.seconds = time.perf_counter() - self._began
        if error is not None:
            self.error = self.error or _kind_of(error)
        for observer, begun in self._begun:
            observer.ended(self, begun)


class Observer(Protocol):
    """Is told of all spans of this process."""

    def began(self, span: Span, /) -> object:
        """Note the beginning; return what the end needs."""

    def ended(self, span: Span, begun: object, /) -> None:
        """Note the end, and the duration."""


class _Unobserved(Span):
    def note(self, **attributes: Attribute) -> None:
        """Note nothing."""


_observers: list[Observer] = []
_UNOBSERVED: Final = nullcontext[Span](_Unobserved("request", {}, None))


def observe(observer: Observer) -> None:
    """Tell ``observer`` of all spans from now on."""
    if observer not in _observers:
        _observers.append(observer)


def ignore(observer: Observer) -> None:
    """Tell ``observer`` no more."""
    _observers.remove(observer)


def span(
    name: Name, *, parent: str | None = None, **attributes: Attribute
) -> AbstractContextManager[Span]:
    """Return a span to enter; underscores in the names of attributes become dots."""
    if not _observers:
        return _UNOBSERVED
    new = Span(name, {}, parent)
    new.note(**attributes)
    return new


def spanned(name: Name) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Awaitable[T]]]:
    """Make each call of an asynchronous function a span."""

    def decorate(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        @wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            with span(name):
                return await function(*args, **kwargs)

        return call

    return decorate


def _kind_of(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "cancelled"
    if isinstance(error, UserMerged) or (
        isinstance(error, RemembrancerError) and error.status < 500
    ):
        return "refused"
    return type(error).__name__

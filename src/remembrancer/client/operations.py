"""One definition of a method for both clients: awaited on one, called on the other."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from remembrancer.client.calls import Call
from remembrancer.paging import Page

P = ParamSpec("P")
T = TypeVar("T")
PageT = TypeVar("PageT")
Item = TypeVar("Item")


class AsyncSender(Protocol):
    """Sends requests on an event loop."""

    async def send(self, call: Call[T]) -> T:
        """Return the answer to a request."""

    def lines(self, call: Call[T]) -> AsyncIterator[T]:
        """Return an answer that comes line by line."""


class Sender(Protocol):
    """Sends requests and waits."""

    def send(self, call: Call[T]) -> T:
        """Return the answer to a request."""

    def lines(self, call: Call[T]) -> Iterator[T]:
        """Return an answer that comes line by line."""


By = TypeVar("By", bound=AsyncSender | Sender)


class Group(Generic[By]):
    """Methods about one noun."""

    def __init__(self, sender: By) -> None:
        self.sender: Any = sender


class operation(Generic[P, T]):  # noqa: N801 - a decorator
    """A method that is one request."""

    def __init__(self, made: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._made = made
        update_wrapper(self, made)  # type: ignore[arg-type]

    @overload
    def __get__(
        self, group: Group[AsyncSender], owner: Any = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, group: Group[Sender], owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "operation[P, T]": ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        """Return the method, for the kind of client it is of."""
        if group is None:
            return self

        def asked(*args: Any, **kwargs: Any) -> Any:
            return group.sender.send(self._made(group, *args, **kwargs))

        return update_wrapper(asked, self._made)


class stream(Generic[P, T]):  # noqa: N801 - a decorator
    """A method whose answer comes line by line."""

    def __init__(self, made: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._made = made
        update_wrapper(self, made)  # type: ignore[arg-type]

    @overload
    def __get__(
        self, group: Group[AsyncSender], owner: Any = None
    ) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, group: Group[Sender], owner: Any = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "stream[P, T]": ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        """Return the method, for the kind of client it is of."""
        if group is None:
            return self

        def asked(*args: Any, **kwargs: Any) -> Any:
            return group.sender.lines(self._made(group, *args, **kwargs))

        return update_wrapper(asked, self._made)


class AsyncPages(Generic[P, PageT, Item]):
    """A list in pages: await a call for one of them, or go through :meth:`each` item."""

    def __init__(self, ask: Callable[..., Any], items: Callable[[Any], Sequence[Any]]) -> None:
        self._ask = ask
        self._items = items

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> PageT:
        """Return one page; its ``next_cursor`` is the ``cursor`` of the next."""
        page: PageT = await self._ask(*args, **kwargs)
        return page

    async def each(self, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Item]:
        """Yield all items, asking for page after page."""
        page: Any = await self._ask(*args, **kwargs)
        while True:
            for item in self._items(page):
                yield item
            if page.next_cursor is None:
                return
            page = await self._ask(*args, **{**kwargs, "cursor": page.next_cursor})


class Pages(Generic[P, PageT, Item]):
    """A list in pages: call it for one of them, or go through :meth:`each` item."""

    def __init__(self, ask: Callable[..., Any], items: Callable[[Any], Sequence[Any]]) -> None:
        self._ask = ask
        self._items = items

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> PageT:
        """Return one page; its ``next_cursor`` is the ``cursor`` of the next."""
        page: PageT = self._ask(*args, **kwargs)
        return page

    def each(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Item]:
        """Yield all items, asking for page after page."""
        page: Any = self._ask(*args, **kwargs)
        while True:
            yield from self._items(page)
            if page.next_cursor is None:
                return
            page = self._ask(*args, **{**kwargs, "cursor": page.next_cursor})


class _Listing(Generic[P, PageT, Item]):
    def __init__(
        self,
        made: Callable[Concatenate[Any, P], Call[PageT]],
        items: Callable[[PageT], Sequence[Item]],
    ) -> None:
        self._made = made
        self._items = items
        update_wrapper(self, made)  # type: ignore[arg-type]

    @overload
    def __get__(
        self, group: Group[AsyncSender], owner: Any = None
    ) -> AsyncPages[P, PageT, Item]: ...
    @overload
    def __get__(self, group: Group[Sender], owner: Any = None) -> Pages[P, PageT, Item]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "_Listing[P, PageT, Item]": ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        """Return the method, for the kind of client it is of."""
        if group is None:
            return self
        ask = partial(_ask, group, self._made)
        pages = AsyncPages if group.sender.is_async else Pages
        return update_wrapper(pages(ask, self._items), self._made)


def _ask(group: Any, made: Callable[..., Call[Any]], *args: Any, **kwargs: Any) -> Any:
    return group.sender.send(made(group, *args, **kwargs))


def listing(
    made: Callable[Concatenate[Any, P], Call[Page[Item]]],
) -> _Listing[P, Page[Item], Item]:
    """Make a method that lists what there is in pages."""
    return _Listing(made, _items)


def listing_of(
    items: Callable[[PageT], Sequence[Item]],
) -> Callable[[Callable[Concatenate[Any, P], Call[PageT]]], _Listing[P, PageT, Item]]:
    """Make a method whose pages hold their ``items`` under a name of their own."""

    def listed(
        made: Callable[Concatenate[Any, P], Call[PageT]],
    ) -> _Listing[P, PageT, Item]:
        return _Listing(made, items)

    return listed


def _items(page: Page[Item]) -> Sequence[Item]:
    return page.items

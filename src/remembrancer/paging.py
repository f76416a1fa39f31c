"""Lists and their pages."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial, update_wrapper
from types import MethodType
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar

from pydantic import BaseModel

LARGEST_PAGE: Final = 200
"""The most items of one page."""

Item = TypeVar("Item")
Other = TypeVar("Other")
P = ParamSpec("P")
PageT_co = TypeVar("PageT_co", covariant=True)


class Items(BaseModel, Generic[Item]):
    """A whole list."""

    items: list[Item]


class Page(Items[Item], Generic[Item]):
    """One page of a list; ``next_cursor`` is null on the last."""

    next_cursor: str | None = None

    def map(self, convert: Callable[[Item], Other]) -> "Page[Other]":
        return Page(items=[convert(item) for item in self.items], next_cursor=self.next_cursor)


class CountedPage(Page[Item], Generic[Item]):
    """One page of a list; ``total`` counts the items of all pages."""

    total: int


class LoadPage(Protocol[Item]):
    """Loads one page of a list."""

    def __call__(self, *, limit: int, cursor: str | None) -> Awaitable[Page[Item]]:
        """Return the page of ``limit`` items after ``cursor``."""


async def all_items(load: LoadPage[Item], limit: int | None = None) -> list[Item]:
    """Return the items of all pages, or the first ``limit``."""
    items: list[Item] = []
    cursor: str | None = None
    while limit is None or len(items) < limit:
        size = LARGEST_PAGE if limit is None else min(LARGEST_PAGE, limit - len(items))
        page = await load(limit=size, cursor=cursor)
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    return items


class AsyncPages(Generic[P, PageT_co]):
    """A list in pages: await a call for one page, or iterate over :meth:`each` item."""

    def __init__(self, request_page: Callable[P, Awaitable[PageT_co]]) -> None:
        self._request_page: Callable[..., Awaitable[Any]] = request_page

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> PageT_co:
        """Return one page; its ``next_cursor`` is the ``cursor`` of the next."""
        page: PageT_co = await self._request_page(*args, **kwargs)
        return page

    async def each(
        self: "AsyncPages[P, Page[Item]]", *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[Item]:
        """Yield all items, requesting page after page."""
        page: Page[Item] = await self._request_page(*args, **kwargs)
        while True:
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            page = await self._request_page(*args, **{**kwargs, "cursor": page.next_cursor})


class PageMethod(Generic[P, PageT_co]):
    """A method of a service that returns a page, as :class:`AsyncPages`."""

    def __init__(self, function: Callable[Concatenate[Any, P], Awaitable[PageT_co]]) -> None:
        self.function = function
        update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, service: object, owner: object = None) -> AsyncPages[P, PageT_co]:
        """Return the list of a service."""
        pages: AsyncPages[P, PageT_co] = AsyncPages(partial(self.function, service))
        update_wrapper(pages, MethodType(self.function, service))
        return pages

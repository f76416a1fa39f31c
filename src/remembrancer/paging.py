"""Lists and their pages."""

from collections.abc import Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

from pydantic import BaseModel

LARGEST_PAGE: Final = 200
"""The most items of one page."""

Item = TypeVar("Item")
Other = TypeVar("Other")


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

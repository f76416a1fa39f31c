"""Lists and their pages."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from pydantic import BaseModel

LARGEST_PAGE: Final = 200
"""The most items of one page."""

Item = TypeVar("Item")
Other = TypeVar("Other")


class Page(BaseModel, Generic[Item]):
    """One page of a list; ``next_cursor`` is null on the last."""

    items: list[Item]
    next_cursor: str | None = None

    def map(self, convert: Callable[[Item], Other]) -> "Page[Other]":
        return Page(items=[convert(item) for item in self.items], next_cursor=self.next_cursor)


class CountedPage(Page[Item], Generic[Item]):
    """One page of a list; ``total`` counts the items of all pages."""

    total: int

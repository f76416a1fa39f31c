"""Decide whether a space keeps an owner. Pure."""

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from remembrancer.access import SpaceRole


def orphaned(roles: Mapping[UUID, SpaceRole], changes: Mapping[UUID, SpaceRole | None]) -> bool:
    """Return whether the changes of roles leave members without an owner; None is for leaving.

    The last member may leave.
    """
    after = {**roles, **changes}
    left = [role for role in after.values() if role is not None]
    return bool(left) and SpaceRole.OWNER not in left


class InSpace(Protocol):
    """A memory or a hit, as its reader sees it."""

    space_id: UUID | None
    space_name: str | None
    author: str | None


def origin(item: InSpace) -> str:
    """Return "in <space>, from <author>" to stand beside a text; nothing outside of spaces."""
    if item.space_id is None:
        return ""
    where = f"in {item.space_name}" if item.space_name else "in a space that you have left"
    return f"{where}, from {item.author}" if item.author else where

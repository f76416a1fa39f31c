"""Decide whether a space keeps an owner. Pure."""

from collections.abc import Mapping
from uuid import UUID

from remembrancer.access import SpaceRole


def orphaned(roles: Mapping[UUID, SpaceRole], changes: Mapping[UUID, SpaceRole | None]) -> bool:
    """Return whether the changes of roles leave members without an owner; None is for leaving.

    The last member may leave.
    """
    after = {**roles, **changes}
    left = [role for role in after.values() if role is not None]
    return bool(left) and SpaceRole.OWNER not in left

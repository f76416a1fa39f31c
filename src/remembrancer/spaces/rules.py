"""Whether a space still has an owner."""

from collections.abc import Mapping
from uuid import UUID

from remembrancer.access import SpaceRole


def orphaned(roles: Mapping[UUID, SpaceRole], changes: Mapping[UUID, SpaceRole | None]) -> bool:
    """Say whether ``changes`` would leave members in a space and none of them its owner.

    ``changes`` are new roles, null for whoever goes. The last member may go.
    """
    after = {**roles, **changes}
    left = [role for role in after.values() if role is not None]
    return bool(left) and SpaceRole.OWNER not in left

"""Whether a space still has an owner."""

from itertools import product
from uuid import UUID

import pytest

from remembrancer.access import SpaceRole, may_manage
from remembrancer.spaces.rules import orphaned

A, B, C = (UUID(int=n) for n in (1, 2, 3))
OWNER, MEMBER = SpaceRole.OWNER, SpaceRole.MEMBER


@pytest.mark.parametrize(
    ("first", "second", "third"), list(product([OWNER, MEMBER, None], repeat=3))
)
def test_a_space_with_members_has_an_owner(
    first: SpaceRole | None, second: SpaceRole | None, third: SpaceRole | None
) -> None:
    """Whatever becomes of everybody, those who are left have an owner, or nobody is left."""
    roles = {A: OWNER, B: MEMBER, C: OWNER}
    changes = {A: first, B: second, C: third}
    left = [role for role in changes.values() if role is not None]
    assert orphaned(roles, changes) == (bool(left) and OWNER not in left)


def test_who_is_not_named_stays_what_they_are() -> None:
    """One of two owners may go; the only one may not while others stay."""
    assert not orphaned({A: OWNER, B: OWNER}, {A: None})
    assert orphaned({A: OWNER, B: MEMBER}, {A: None})
    assert orphaned({A: OWNER, B: MEMBER}, {A: MEMBER})
    assert not orphaned({A: OWNER}, {A: None})
    assert not orphaned({A: OWNER, B: MEMBER}, {A: None, B: OWNER})


def test_only_owners_manage() -> None:
    """Not members, and not those who are none."""
    assert [may_manage(role) for role in (OWNER, MEMBER, None)] == [True, False, False]

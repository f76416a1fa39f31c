"""Identifiers: short ones people and models can type, and time-ordered UUIDs."""

import secrets
import string
from typing import Final
from uuid import UUID

from uuid_utils import compat

SHARED_OWNER: Final = UUID(int=0)
"""Owner of shared knowledge in storage; the API shows it as null."""

MemoryKey = tuple[UUID, str]
"""A memory: its owner and its id, which is unique for that owner only."""

_BASE62: Final = string.ascii_letters + string.digits
SHORT_ID_LENGTH: Final = 8


def short_id() -> str:
    """Return a random 8-character base62 id (62^8, about 2.2e14 values).

    An id is a name, not a capability: knowing it grants nothing.
    """
    return "".join(secrets.choice(_BASE62) for _ in range(SHORT_ID_LENGTH))


def new_uuid() -> UUID:
    """Return a UUIDv7, which sorts by the time it was made."""
    return compat.uuid7()


def public_owner(owner_id: UUID) -> UUID | None:
    """Return the owner as the API shows it: null for shared knowledge."""
    return None if owner_id == SHARED_OWNER else owner_id

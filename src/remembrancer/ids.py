"""Short ids for people and models, and time-ordered UUIDs."""

import secrets
import string
from typing import Final
from uuid import UUID

from uuid_utils import compat

DEFAULT_WORKSPACE: Final = "default"
"""The workspace in the host's own database, which always exists."""
SHARED_OWNER: Final = UUID(int=0)
"""Owner of shared knowledge in storage; the API shows it as null."""

MemoryKey = tuple[UUID, str]
"""A memory: its owner and its id, which is unique for that owner only."""

_BASE62: Final = string.ascii_letters + string.digits
SHORT_ID_LENGTH: Final = 8


def short_id() -> str:
    """Return a random base62 id of 8 characters (62^8, about 2.2e14 values).

    It is a name: to know it gives no access.
    """
    return "".join(secrets.choice(_BASE62) for _ in range(SHORT_ID_LENGTH))


def new_uuid() -> UUID:
    """Return a UUIDv7. They sort by time."""
    return compat.uuid7()


def public_owner(owner_id: UUID) -> UUID | None:
    """Return null for shared knowledge, as the API shows it."""
    return None if owner_id == SHARED_OWNER else owner_id

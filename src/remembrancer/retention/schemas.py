"""API models of retention."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from remembrancer.paging import Items

What = Literal[
    "messages",
    "evicted",
    "forgotten",
    "versions",
    "undo",
    "audit",
    "usage",
    "jobs",
    "failed_jobs",
    "sessions",
    "uploads",
    "idempotency_keys",
]
"""What has a retention: the names of the settings."""


class RetentionLine(BaseModel):
    """One kind of row: how long it is stored, and how many are older."""

    what: What = Field(description="The setting's name, after `retention.`.")
    days: int | None = Field(description="Days until removal; null for ever.")
    count: int = Field(description="Removed rows; in a dry run, those to remove now.")


class RetentionReport(Items[RetentionLine]):
    """What was removed for good, or would be."""

    dry_run: bool = Field(description="True: nothing was removed; these rows would be.")
    is_complete: bool = Field(description="False: there are more; run it again.")
    at: datetime

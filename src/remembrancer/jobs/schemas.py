"""Jobs, as an admin sees them."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, Field

from remembrancer.paging import Page


class JobStatus(StrEnum):
    """How far a job is."""

    QUEUED = "queued"
    """Waits for a worker, or for its next try."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Gave up after the last try; the sweep queues its work anew."""
    CANCELLED = "cancelled"


class Job(BaseModel):
    """One job. It holds ids and counts, never what anybody said."""

    id: int
    task: str = Field(examples=["summarise"])
    status: JobStatus
    arguments: dict[str, str] = Field(description="Ids of what it is about.")
    tries: int = Field(description="How often it ran to an end, or was put back.")
    reason: str | None = Field(
        None,
        description="Why the last try failed: the kind of error and the field it names.",
        examples=["EmbeddingUnavailable"],
    )
    counts: dict[str, int] = Field(description="What the last try did.")
    queued_at: datetime | None
    started_at: datetime | None = Field(None, description="Start of the last try.")
    ended_at: datetime | None = Field(None, description="End of the last try.")
    next_try_at: datetime | None = None


class JobCounts(BaseModel):
    """How many jobs are in which state. ``retrying`` are those of ``queued`` that failed before."""

    queued: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    retrying: int = 0


class JobPage(Page[Job]):
    """One page of jobs, and how many there are in which state."""

    counts: JobCounts = Field(description="Of all jobs, whatever is asked for.")

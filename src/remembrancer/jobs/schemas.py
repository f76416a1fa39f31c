"""API models of background jobs."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, Field

from remembrancer.paging import Page


class JobStatus(StrEnum):
    """The status of a job."""

    QUEUED = "queued"
    """Waiting for a worker, or for the next try."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Gave up after the last try; the sweep queues its work again."""
    CANCELLED = "cancelled"


class Job(BaseModel):
    """A job. It has ids and counts, never text of users."""

    id: int
    task: str = Field(examples=["summarise"])
    status: JobStatus
    arguments: dict[str, str] = Field(description="Ids of its subjects.")
    tries: int = Field(description="How often it ended or was requeued.")
    reason: str | None = Field(
        None,
        description="Reason of the last failure: the kind of error and the field it names.",
        examples=["EmbeddingUnavailable"],
    )
    counts: dict[str, int] = Field(description="Results of the last try.")
    queued_at: datetime | None
    started_at: datetime | None = Field(None, description="Start of the last try.")
    ended_at: datetime | None = Field(None, description="End of the last try.")
    next_try_at: datetime | None = None


class JobTotals(BaseModel):
    """Jobs by status. ``retrying`` counts the queued ones that failed before."""

    queued: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    retrying: int = 0
    oldest_seconds: float = Field(
        0.0, description="Seconds since the oldest queued job was queued; 0 without one."
    )


class JobPage(Page[Job]):
    """A page of jobs, and the number of all jobs by status."""

    counts: JobTotals = Field(description="All jobs by status, without the filter.")

"""Background jobs: /api/jobs. For admins."""

from typing import Annotated

from fastapi import APIRouter, Query

from remembrancer.api.dependencies import App, Authenticated, Cursor, Limit
from remembrancer.jobs.schemas import JobPage, JobStatus

router = APIRouter(prefix="/api/jobs", tags=["jobs"])


@router.get("")
async def list_jobs(
    app: App,
    actor: Authenticated,
    status: Annotated[JobStatus | None, Query(description="In this state only.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JobPage:
    """List background jobs, newest first, and count them all."""
    page = await app.jobs.list(actor, status=status, limit=limit, cursor=cursor)
    counts = await app.jobs.counts(actor)
    return JobPage(items=page.items, next_cursor=page.next_cursor, counts=counts)


@router.post("/{job_id}/retry", status_code=204)
async def retry_job(app: App, actor: Authenticated, job_id: int) -> None:
    """Queue the work of a failed job anew, or run one now that waits for its next try."""
    await app.jobs.retry(actor, job_id)

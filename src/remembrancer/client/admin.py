"""Keys, jobs and the audit log."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from remembrancer.client.calls import Call, Many, call, part, sent
from remembrancer.client.operations import By, Group, listing, listing_of, operation
from remembrancer.jobs.schemas import Job, JobPage, JobStatus
from remembrancer.keys.schemas import Key, KeyCreate, KeyHolder, NewKey
from remembrancer.paging import Page

if TYPE_CHECKING:
    from remembrancer.audit.schemas import AuditFilter, AuditLine


def _jobs(page: JobPage) -> Sequence[Job]:
    return page.items


class Keys(Group[By]):
    """API keys."""

    @operation
    def own(self) -> Call[KeyHolder]:
        """Return who this client's key stands for."""
        return call("GET", "/api/keys/own", KeyHolder)

    @operation
    def create(self, key: KeyCreate) -> Call[NewKey]:
        """Make a key; its secret is in this answer and nowhere else. For admins."""
        return call("POST", "/api/keys", NewKey, body=key)

    @operation
    def list(self) -> Call[Many[Key]]:
        """List all keys, without their secrets. For admins."""
        return call("GET", "/api/keys", Many[Key], inside="keys")

    @operation
    def revoke(self, key_id: UUID) -> Call[Key]:
        """Make a key worthless from now on. For admins."""
        return call("DELETE", f"/api/keys/{part(key_id)}", Key)


class Jobs(Group[By]):
    """Work that is done later. For admins."""

    @listing_of(_jobs)
    def list(
        self, *, status: JobStatus | None = None, limit: int = 50, cursor: str | None = None
    ) -> Call[JobPage]:
        """List jobs, newest first, and count them all."""
        query = {"status": status, "limit": limit, "cursor": cursor}
        return call("GET", "/api/jobs", JobPage, query=query)

    @operation
    def retry(self, job_id: int) -> Call[None]:
        """Queue the work of a failed job anew, or run one now that waits for its next try."""
        return call("POST", f"/api/jobs/{job_id}/retry")


class Audit(Group[By]):
    """Who read or changed what."""

    @listing
    def list(
        self,
        wanted: "AuditFilter | None" = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> "Call[Page[AuditLine]]":
        """List lines, the latest first: all for admins, for a user their own."""
        # Its package has the log itself, and that a database.
        from remembrancer.audit.schemas import AuditLine  # noqa: PLC0415

        given = sent(wanted) if wanted is not None else {}
        query = {**given, "limit": limit, "cursor": cursor}
        return call("GET", "/api/audit", Page[AuditLine], query=query)

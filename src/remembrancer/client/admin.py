"""Keys, jobs, the audit log, usage, retention and workspaces."""

from datetime import date
from typing import Unpack
from uuid import UUID

import remembrancer
from remembrancer.client.calls import json_of
from remembrancer.client.operations import By, Group, Paging, listing, operation
from remembrancer.jobs.schemas import JobPage, JobStatus
from remembrancer.keys.schemas import DEFAULT_GRACE, Key, KeyCreate, KeyHolder, NewKey
from remembrancer.paging import Items, Page
from remembrancer.retention.schemas import RetentionReport
from remembrancer.settings import MAIN
from remembrancer.usage.schemas import DailyUsage
from remembrancer.workspaces.schemas import (
    DropReceipt,
    NewWorkspace,
    Workspace,
    WorkspaceLimits,
)


class Keys(Group[By]):
    """API keys."""

    @operation("GET /api/keys/own")
    def own(self) -> KeyHolder:
        """Return the role and user of this client's key."""

    @operation("POST /api/keys")
    def create(self, key: KeyCreate) -> NewKey:
        """Create a key; only this answer has its secret. For admins; users create their own."""

    @operation("GET /api/keys")
    def list(self) -> Items[Key]:
        """List all keys, without their secrets; a user's own. For admins and users."""

    @operation("DELETE /api/keys/{key}")
    def revoke(self, key: UUID | str) -> Key:
        """Revoke a key by its id, or a valid one by its name. For admins and users."""

    @operation("POST /api/keys/{key}/rotate", body=json_of)
    def rotate(self, key: UUID | str, *, grace: int = DEFAULT_GRACE) -> NewKey:
        """Replace a valid key; the old secret stays valid for ``grace`` seconds, by default a day.

        For admins, and users with keys of their own.
        """


class Jobs(Group[By]):
    """Background jobs. For admins."""

    @listing("GET /api/jobs")
    def list(self, *, status: JobStatus | None = None, **paging: Unpack[Paging]) -> JobPage:
        """List jobs, the newest first, with the number of jobs in each state."""

    @operation("POST /api/jobs/{job_id}/retry")
    def retry(self, job_id: int) -> None:
        """Queue a failed job again, or run a job now that waits for its next try."""


class Audit(Group[By]):
    """The audit log."""

    # The package of these models needs a database driver: it is imported at the first call.
    @listing("GET /api/audit")
    def list(
        self, filters: "remembrancer.AuditFilter | None" = None, **paging: Unpack[Paging]
    ) -> "Page[remembrancer.AuditLine]":
        """List lines of the log, the latest first: all for admins, for a user their own."""


class Usage(Group[By]):
    """What agents did, by day. For admins."""

    @operation("GET /api/usage")
    def list(
        self,
        *,
        since: date | None = None,
        until: date | None = None,
        agent_id: UUID | None = None,
    ) -> Items[DailyUsage]:
        """List usage by day, kind and agent: of the last 30 days unless ``since`` says otherwise.

        Days are in UTC, and both included.
        """


class Retention(Group[By]):
    """How long rows are stored. For admins."""

    @operation("POST /api/retention")
    def run(self, *, dry_run: bool = True) -> RetentionReport:
        """Remove what is older than the server's settings say, or count it.

        Ends after 30 seconds; then the report says that it is not complete, and another run goes
        on. It cannot be undone.
        """


class Workspaces(Group[By]):
    """Workspaces of the host. For admin keys of the default workspace."""

    @operation("POST /api/workspaces", body=json_of)
    def create(
        self, name: str, *, server: str = MAIN, limits: WorkspaceLimits | None = None
    ) -> NewWorkspace:
        """Create a workspace with an admin key; only this answer has its secret.

        ``server`` is one of the server's setting ``workspaces.servers``. Raises ``Conflict`` for a
        name that exists, and ``InvalidInput`` for an unknown server.
        """

    @listing("GET /api/workspaces")
    def list(self, **paging: Unpack[Paging]) -> Page[Workspace]:
        """List workspaces by name, all but the default one."""

    @operation("GET /api/workspaces/{workspace}")
    def get(self, workspace: str) -> Workspace:
        """Return a workspace; raise ``NotFound`` for an unknown one."""

    @operation("PUT /api/workspaces/{workspace}/limits")
    def limit(self, workspace: str, limits: WorkspaceLimits) -> Workspace:
        """Set the limits of a workspace. All servers know them within a second."""

    @operation("POST /api/workspaces/{workspace}/suspend")
    def suspend(self, workspace: str) -> Workspace:
        """Refuse all requests to a workspace until it is resumed: within a second everywhere."""

    @operation("POST /api/workspaces/{workspace}/resume")
    def resume(self, workspace: str) -> Workspace:
        """Let a workspace be used again that was suspended."""

    @operation("POST /api/workspaces/{workspace}/move", body=json_of)
    def move(self, workspace: str, server: str, *, wait_seconds: float = 20.0) -> Workspace:
        """Move a workspace to another server while it is used, or go on with that.

        Its rows are copied, each is compared, and then writes wait, for about a second, until the
        new server has them all; reads go on. Afterwards the old server follows the new one, until
        :meth:`confirm_move` or :meth:`undo_move`. Returns when it is moved, or after
        ``wait_seconds``, 20 at most: repeat the call until ``move.state`` is ``moved``.

        Raises ``InvalidInput`` for an unknown server, and ``Conflict`` if it is there already, on
        its way elsewhere, or if the servers cannot copy; what was reached then stays.
        """

    @operation("POST /api/workspaces/{workspace}/move/confirm")
    def confirm_move(self, workspace: str) -> Workspace:
        """Drop what a workspace left on its old server: its move cannot be undone any more.

        Raises ``Conflict`` if it is not moved.
        """

    @operation("POST /api/workspaces/{workspace}/move/undo")
    def undo_move(self, workspace: str) -> Workspace:
        """Bring a workspace back to its old server with all that was written since, or stop a copy.

        Raises ``Conflict`` if it is not on its way.
        """

    @operation("DELETE /api/workspaces/{workspace}")
    def drop(self, workspace: str, *, dry_run: bool = True) -> DropReceipt:
        """Drop a suspended workspace with all that is in it, for good, or say what that is.

        A dry run, the default, drops nothing. Raises ``Conflict`` for one that is not suspended,
        except for a creation that did not end.
        """

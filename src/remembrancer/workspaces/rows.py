"""Rows of the registry."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remembrancer.workspaces.schemas import (
    Workspace,
    WorkspaceLimits,
    WorkspaceMove,
    WorkspaceState,
)


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """A workspace as the registry has it."""

    id: UUID
    name: str
    server: str
    database: str
    state: str
    revision: str
    limits: Mapping[str, int | None]
    created_at: datetime
    used_at: datetime | None
    move: Mapping[str, object] | None = None

    @property
    def way(self) -> WorkspaceMove | None:
        """How far it is on its way to another server."""
        return None if self.move is None else WorkspaceMove.model_validate(self.move)

    @property
    def is_active(self) -> bool:
        """Whether it may be used."""
        return self.state == WorkspaceState.ACTIVE

    def shown(self) -> Workspace:
        """Return it as admins see it."""
        return Workspace(
            id=self.id,
            name=self.name,
            server=self.server,
            database=self.database,
            state=WorkspaceState(self.state),
            revision=self.revision,
            # A newer version may know more of them.
            limits=WorkspaceLimits(
                **{k: v for k, v in self.limits.items() if k in WorkspaceLimits.model_fields}
            ),
            created_at=self.created_at,
            used_at=self.used_at,
            move=self.way,
        )

"""The audit log: who changed or was refused what. Ids and outcomes, never content."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.access import Actor
from remembrancer.db.tables import audit_log
from remembrancer.ids import SHARED_OWNER, new_uuid

Outcome = Literal["done", "refused"]


async def note(
    connection: AsyncConnection,
    actor: Actor,
    action: str,
    target_ids: Sequence[str],
    *,
    owner_id: UUID | None = None,
    outcome: Outcome = "done",
) -> None:
    """Add one line: ``actor`` did ``action`` to ``target_ids`` of ``owner_id``."""
    await connection.execute(
        insert(audit_log).values(
            owner_id=owner_id or actor.user_id or SHARED_OWNER,
            id=new_uuid(),
            actor_role=actor.role,
            actor_user_id=actor.user_id,
            actor_agent_id=actor.agent_id,
            actor_key_id=actor.key_id,
            entry_point=actor.entry_point,
            action=action,
            target_ids=list(target_ids),
            outcome=outcome,
        )
    )

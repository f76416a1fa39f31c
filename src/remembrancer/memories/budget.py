"""How much memory a user may have: what goes when it is more, and what would go."""

import logging
from collections.abc import Collection
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.decay import decayed_sql
from remembrancer.memories.schemas import BudgetPreview, EvictionCandidate

log = logging.getLogger(__name__)

ACTION = "memory.evict"

# What is pinned counts and never goes. The order of going: what is inactive, then the least of
# what is left of its importance, then the oldest; what was written just now goes last.
_RANKED = f"""
    mine AS (
        SELECT m.id, m.kind, m.category, m.subject, m.content, m.status, m.pinned, m.tokens,
               m.created_at, m.id = ANY (CAST(:written AS text[])) AS written,
               {decayed_sql("m.importance", "m.kind",
                            "greatest(m.updated_at, m.last_accessed_at)", "now()")} AS left_over
          FROM memories AS m
         WHERE m.owner_id = :owner_id AND m.space_id IS NULL
           AND m.status IN ('active', 'inactive')
    ),
    used AS MATERIALIZED (  -- or it is summed up again for every memory
        SELECT CAST(coalesce(sum(tokens), 0) AS bigint) AS tokens,
               CAST(coalesce(sum(tokens) FILTER (WHERE pinned), 0) AS bigint) AS pinned
          FROM mine
    ),
    ranked AS (
        SELECT mine.*, row_number() OVER going AS place,
               sum(tokens) OVER going - tokens AS gone_before
          FROM mine
         WHERE NOT pinned
        WINDOW going AS (
               ORDER BY written, status = 'active', left_over, created_at, id
               ROWS UNBOUNDED PRECEDING)
    )
"""  # fmt: skip
_EVICT = text(f"""
    WITH {_RANKED},
    going AS MATERIALIZED (
        SELECT r.id, r.place
          FROM ranked AS r, used
         WHERE r.gone_before < used.tokens - :budget
    ),
    evicted AS (
        UPDATE memories SET status = 'evicted'
         WHERE owner_id = :owner_id AND id = ANY (ARRAY(SELECT id FROM going))
    ),
    hidden AS (
        UPDATE recall_items SET active = false
         WHERE owner_id = :owner_id AND memory_id = ANY (ARRAY(SELECT id FROM going))
    )
    SELECT id FROM going ORDER BY place
""")
_USED = text(f"WITH {_RANKED} SELECT tokens, pinned FROM used")
_WOULD_GO = text(f"""
    WITH {_RANKED}
    SELECT r.*
      FROM ranked AS r, used
     WHERE r.gone_before < used.tokens + :adding - :budget
     ORDER BY r.place
""")


class Budget:
    """Keeps a user's memory within ``tokens`` (cl100k_base); 0 is no limit.

    What counts is the content of a user's active and inactive memories, for whichever agent.
    What lies in spaces is for their members to tidy, and shared knowledge is nobody's.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    async def keep(
        self, connection: AsyncConnection, actor: Actor, owner_id: UUID, written: Collection[str]
    ) -> list[str]:
        """Evict what is over an owner's budget; return the ids, first to go first.

        Call under the owner's lock, in the transaction that wrote ``written``: these go last,
        so that what was said just now is there unless what is pinned leaves no room.
        """
        if not self.tokens or owner_id == SHARED_OWNER:
            return []
        binds = {"owner_id": owner_id, "written": list(written), "budget": self.tokens}
        gone = list((await connection.execute(_EVICT, binds)).scalars())
        if gone:
            await audit.note(connection, actor, ACTION, gone, owner_id=owner_id)
            log.warning(
                "evicted %d memories of user %s, over %d tokens: %s",
                len(gone),
                owner_id,
                self.tokens,
                " ".join(gone),
            )
        return gone

    async def preview(
        self, connection: AsyncConnection, owner_id: UUID, adding: int
    ) -> BudgetPreview:
        """Return what would go if an owner wrote ``adding`` more tokens."""
        binds = {"owner_id": owner_id, "written": []}
        used = (await connection.execute(_USED, binds)).one()
        rows = []
        if self.tokens:
            more = binds | {"budget": self.tokens, "adding": adding}
            rows = list(await connection.execute(_WOULD_GO, more))
        return BudgetPreview(
            budget=self.tokens,
            used=used.tokens,
            pinned=used.pinned,
            adding=adding,
            would_go=[
                EvictionCandidate.model_validate(dict(row._mapping) | {"importance": row.left_over})
                for row in rows
            ],
        )

"""A digest of shared knowledge for an agent."""

from dataclasses import replace
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.agents import repository as agents
from remembrancer.audit.reads import Reads
from remembrancer.context.queries import PLANNER, statement
from remembrancer.context.renderer import Renderer
from remembrancer.context.schemas import MOST_TOKENS, Bulletin
from remembrancer.context.service import FEWEST_TOKENS_A_LINE
from remembrancer.context.token_budget import MOST_MISSES
from remembrancer.db.engine import Database, Statement
from remembrancer.errors import NotFound
from remembrancer.settings import ContextSettings
from remembrancer.text import check_range


class Bulletins:
    """Makes bulletins. The same store gives the same one, byte by byte, on every day."""

    def __init__(
        self, database: Database, reads: Reads, renderer: Renderer, settings: ContextSettings
    ) -> None:
        self._database = database
        self._reads = reads
        self._renderer = renderer
        self._settings = settings

    async def bulletin(
        self, actor: Actor, agent_id: UUID, *, tokens: int | None = None
    ) -> Bulletin:
        """Return what everybody who talks to an agent may know, by kind, within ``tokens``.

        The weightiest come first where not all fits. Nothing of any person is in it, whoever
        asks. Raises ``NotFound`` for an unknown agent.
        """
        allowed = self._settings.bulletin_tokens if tokens is None else tokens
        check_range(allowed, 0, MOST_TOKENS, field="tokens")
        async with self._database.transaction(actor) as (connection, actor):
            if await agents.find(connection, agent_id) is None:
                raise NotFound("no such agent", field="agent_id")
        nobody = replace(actor, user_id=None, agent_id=agent_id)
        count = allowed // FEWEST_TOKENS_A_LINE + MOST_MISSES
        binds = {"user_id": None, "agent_id": agent_id, "count": count}
        asked = Statement(statement("bulletin"), binds, PLANNER)
        [rows] = await self._database.one_round_trip(nobody, asked)
        total = rows[0].total if rows else 0
        filled = self._renderer.fill_bulletin(rows, total, allowed)
        ids = [entry.row.memory_id for entry in filled.entries]
        await self._reads.note(actor, "bulletin.read", [(None, one) for one in ids])
        return Bulletin(
            agent_id=agent_id,
            text=filled.text,
            tokens=filled.tokens,
            ids=ids,
            left_out=total - len(ids),
        )

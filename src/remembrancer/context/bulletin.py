"""The shared knowledge of an agent as text."""

from dataclasses import replace
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.backend import Backend
from remembrancer.checks import check_agent
from remembrancer.context.queries import statement
from remembrancer.context.renderer import Renderer
from remembrancer.context.schemas import MOST_TOKENS, Bulletin
from remembrancer.context.service import FEWEST_TOKENS_A_LINE
from remembrancer.context.token_budget import MOST_MISSES
from remembrancer.settings import ContextSettings
from remembrancer.text import check_range


class Bulletins:
    """Renders bulletins: the same for the same memories, byte by byte."""

    def __init__(self, backend: Backend, renderer: Renderer, settings: ContextSettings) -> None:
        self._backend = backend
        self._renderer = renderer
        self._settings = settings

    async def bulletin(
        self, actor: Actor, agent_id: UUID, *, tokens: int | None = None
    ) -> Bulletin:
        """Return the shared knowledge of an agent, by kind, in up to ``tokens`` tokens.

        If not all fits, the most important has precedence. It holds nothing of any person.
        ``tokens`` is 0 to 100,000, and the settings' unless given. Raises ``NotFound`` for an
        unknown agent.
        """
        allowed = self._settings.bulletin_tokens if tokens is None else tokens
        check_range(allowed, 0, MOST_TOKENS, field="tokens")
        async with self._backend.database.transaction(actor) as (connection, actor):
            await check_agent(connection, agent_id)
        nobody = replace(actor, user_id=None, agent_id=agent_id)
        count = allowed // FEWEST_TOKENS_A_LINE + MOST_MISSES
        query = statement("bulletin", user_id=None, agent_id=agent_id, count=count)
        [rows] = await self._backend.database.one_round_trip(nobody, query)
        total = rows[0].total if rows else 0
        filled = self._renderer.fill_bulletin(rows, total, allowed)
        ids = [entry.memory.memory_id for entry in filled.entries]
        await self._backend.reads.note(
            actor, "bulletin.read", [(None, memory_id) for memory_id in ids]
        )
        return Bulletin(
            agent_id=agent_id,
            text=filled.text,
            tokens=filled.tokens,
            ids=ids,
            left_out=total - len(ids),
        )

"""The memory behind `/memory`: a store of this process, or that of a bot, also on a server."""

from typing import TYPE_CHECKING
from uuid import UUID

from remembrancer.access import Actor
from remembrancer.agents.schemas import Agent
from remembrancer.bot.memory import AsyncMemory
from remembrancer.bot.names import BotAgent, parse_id

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer
    from remembrancer.bot.server import ServerLibrary


class ChatMemory:
    """A memory and an agent of it, which need not be open or exist before somebody writes."""

    def __init__(self, memory: "Remembrancer | AsyncMemory", agent: BotAgent | None) -> None:
        self._memory = memory
        self._agent = agent

    @property
    def library(self) -> "Remembrancer | ServerLibrary":
        """The operations; raises ``Unavailable`` while the memory of a bot is not open."""
        return self._memory.library if isinstance(self._memory, AsyncMemory) else self._memory

    async def agent_id(self, service: Actor) -> UUID | None:
        """Return the id of the agent; a name creates its agent the first time."""
        if isinstance(self._agent, str):
            known = parse_id(self._agent)
            self._agent = known or await self.library.agents.resolve(service, self._agent)
        return self._agent.id if isinstance(self._agent, Agent) else self._agent

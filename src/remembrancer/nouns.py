"""The nouns of the library whose operations live in several packages (decision 26).

Each has the methods of one service, and those of others as attributes.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from remembrancer.agents.service import Agents
from remembrancer.backend import Backend
from remembrancer.context.bulletin import Bulletins
from remembrancer.context.service import Contexts
from remembrancer.context.turns import ConversationTurns
from remembrancer.db.engine import Database
from remembrancer.erasure.deletions import erase_derived
from remembrancer.erasure.service import Erasure
from remembrancer.extraction.service import Summaries
from remembrancer.facts.service import Facts
from remembrancer.identity.service import Identity
from remembrancer.keys.schemas import NewKey
from remembrancer.memories.batch import Batches
from remembrancer.memories.service import Memories
from remembrancer.portability.service import Export
from remembrancer.preferences.repository import add_for_agent
from remembrancer.recall.service import Recall
from remembrancer.spaces.service import Spaces
from remembrancer.statistics import Counts
from remembrancer.users.service import Users
from remembrancer.workspaces.holds import Holds
from remembrancer.workspaces.migrations import WorkspaceMigrations
from remembrancer.workspaces.moves import WorkspaceMoves
from remembrancer.workspaces.service import Workspaces

Store = TypeVar("Store")


class UserOperations(Users):
    """Users: their platform links, merges, export and erasure."""

    def __init__(
        self, backend: Backend, identity: Identity, export: Export, erasure: Erasure
    ) -> None:
        super().__init__(backend)
        self.links = identity.links
        self.link = identity.link
        self.unlink = identity.unlink
        self.merge = identity.merge
        self.preview_merge = identity.preview_merge
        self.merges = identity.merges
        self.undo_merge = identity.undo_merge
        self.export = export.export
        self.erase = erasure.erase_user


class MemoryOperations:
    """Memories: write, read, change, recall and erase them."""

    def __init__(
        self, memories: Memories, batches: Batches, recall: Recall, facts: Facts, erasure: Erasure
    ) -> None:
        self.remember = memories.remember
        self.remember_many = memories.remember_many
        self.recall = recall.recall
        self.list = memories.list
        self.in_conversation = memories.in_conversation
        self.get = memories.get
        self.update = memories.update
        self.forget = memories.forget
        self.forget_many = batches.forget_many
        self.undo_forget = batches.undo_forget
        self.restore = memories.restore
        self.activate = memories.activate
        self.deactivate = memories.deactivate
        self.pin = memories.pin
        self.unpin = memories.unpin
        self.set_visibility = facts.set_visibility
        self.erase = erasure.erase_memory
        self.budget = memories.budget


class ConversationOperations(ConversationTurns):
    """Conversations: messages, turns, contexts and summaries."""

    def __init__(
        self, backend: Backend, contexts: Contexts, summaries: Summaries, erasure: Erasure
    ) -> None:
        super().__init__(backend, summaries.after_append, erase_derived, contexts, summaries)
        self.delete_message = erasure.delete_message
        self.delete_messages = erasure.delete_messages
        self.delete = erasure.delete_conversation


class AgentOperations(Agents):
    """Agents, and the bulletin of each."""

    def __init__(self, backend: Backend, bulletins: Bulletins) -> None:
        super().__init__(backend, on_create=add_for_agent)
        self.bulletin = bulletins.bulletin


class SpaceOperations(Spaces):
    """Spaces: their members and memories."""

    def __init__(self, backend: Backend, facts: Facts) -> None:
        super().__init__(backend)
        self.memories = facts.memories


class WorkspaceOperations(Workspaces[Store]):
    """Workspaces: their life, moves and migrations. Only a key of the default one manages them."""

    def __init__(
        self,
        holds: Holds[Store],
        first_key: Callable[[Store], Awaitable[NewKey]],
        counts: Callable[[Database], Awaitable[Counts]],
    ) -> None:
        super().__init__(holds, first_key, counts)
        self._moves = moves = WorkspaceMoves(holds)
        self.move = moves.move
        self.confirm_move = moves.confirm_move
        self.undo_move = moves.undo_move
        self.close = moves.close
        self.migrate = WorkspaceMigrations(holds).migrate

    async def recover(self) -> int:
        """End creations, drops and steps of moves that died amid their work; return how many."""
        return await super().recover() + await self._moves.recover()

"""The nouns of the library whose operations live in several packages (decision 26).

Each attribute is a method of a service: its documentation is there.
"""

from remembrancer.agents.service import Agents
from remembrancer.context.bulletin import Bulletins
from remembrancer.context.turns import ConversationTurns
from remembrancer.erasure.export import Export
from remembrancer.erasure.service import Erasure
from remembrancer.facts.service import Facts
from remembrancer.identity.service import Identity
from remembrancer.memories.service import Memories
from remembrancer.recall.service import Recall
from remembrancer.spaces.service import Spaces
from remembrancer.users.service import Users


class UserOperations:
    """Users: their platform links, merges, export and erasure."""

    def __init__(self, users: Users, identity: Identity, export: Export, erasure: Erasure) -> None:
        self.resolve = users.resolve
        self.get = users.get
        self.find = users.find
        self.find_by_name = users.find_by_name
        self.list = users.list
        self.overview = users.overview
        self.update = users.update
        self.links = identity.links
        self.link = identity.link
        self.unlink = identity.unlink
        self.merge = identity.merge
        self.preview_merge = identity.preview_merge
        self.merges = identity.merges
        self.undo_merge = identity.undo_merge
        self.export = export.lines
        self.erase = erasure.erase_user


class MemoryOperations:
    """Memories: write, read, change, recall and erase them."""

    def __init__(self, memories: Memories, recall: Recall, facts: Facts, erasure: Erasure) -> None:
        self.remember = memories.remember
        self.remember_many = memories.remember_many
        self.recall = recall.recall
        self.list = memories.list
        self.in_conversation = memories.in_conversation
        self.get = memories.get
        self.update = memories.update
        self.forget = memories.forget
        self.restore = memories.restore
        self.activate = memories.activate
        self.deactivate = memories.deactivate
        self.pin = memories.pin
        self.unpin = memories.unpin
        self.set_visibility = facts.set_visibility
        self.erase = erasure.erase_memory
        self.budget = memories.budget


class ConversationOperations:
    """Conversations: messages, turns, contexts and summaries."""

    def __init__(self, conversations: ConversationTurns, erasure: Erasure) -> None:
        self.open = conversations.open
        self.get = conversations.get
        self.on_platform = conversations.on_platform
        self.list = conversations.list
        self.messages = conversations.messages
        self.position = conversations.position
        self.append = conversations.append
        self.pause = conversations.pause
        self.resume = conversations.resume
        self.context = conversations.context
        self.begin_turn = conversations.begin_turn
        self.finish_turn = conversations.finish_turn
        self.summarize = conversations.summarize
        self.chunks = conversations.chunks
        self.erase_message = erasure.erase_message
        self.erase_messages = erasure.erase_messages


class AgentOperations:
    """Agents, and the bulletin of each."""

    def __init__(self, agents: Agents, bulletins: Bulletins) -> None:
        self.create = agents.create
        self.get = agents.get
        self.list = agents.list
        self.update = agents.update
        self.delete = agents.delete
        self.bulletin = bulletins.bulletin


class SpaceOperations:
    """Spaces: their members and memories."""

    def __init__(self, spaces: Spaces, facts: Facts) -> None:
        self.create = spaces.create
        self.get = spaces.get
        self.list = spaces.list
        self.update = spaces.update
        self.delete = spaces.delete
        self.restore = spaces.restore
        self.members = spaces.members
        self.add_member = spaces.add_member
        self.update_member = spaces.update_member
        self.remove_member = spaces.remove_member
        self.leave = spaces.leave
        self.memories = facts.memories

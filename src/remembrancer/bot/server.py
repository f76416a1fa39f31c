"""A server behind the signatures of the library."""

from inspect import signature
from typing import TYPE_CHECKING, Any

from remembrancer.access import Actor
from remembrancer.client import AsyncClient
from remembrancer.client.operations import Group

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer
    from remembrancer.associations.service import Associations
    from remembrancer.audit.log import AuditLog
    from remembrancer.document.service import Documents
    from remembrancer.facts.service import Facts
    from remembrancer.jobs.service import Jobs
    from remembrancer.keys.service import Keys
    from remembrancer.moves.service import Moves
    from remembrancer.nouns import (
        AgentOperations,
        ConversationOperations,
        MemoryOperations,
        SpaceOperations,
        UserOperations,
        WorkspaceOperations,
    )
    from remembrancer.places.service import Places
    from remembrancer.preferences.policy import Policies
    from remembrancer.preferences.service import Preferences
    from remembrancer.retention.service import Retention
    from remembrancer.review.service import Reviews
    from remembrancer.tools.registry import Registry
    from remembrancer.usage.service import Usage


class _Noun:
    """A part of a client whose operations take an actor first, as the library's do.

    Library and client have the same nouns, verbs and arguments otherwise (decision 26).
    """

    def __init__(self, part: Any, name: str) -> None:
        self._part = part
        self._name = name

    def __getattr__(self, name: str) -> "_Noun":
        full = f"{self._name}.{name}"
        try:
            return _Noun(getattr(self._part, name), full)
        except AttributeError:
            raise AttributeError(f"a server has no {full}; a store in this process does") from None

    def __call__(self, actor: Actor, *args: object, **kwargs: object) -> Any:
        ids = {"user": actor.user_name or actor.user_id, "agent": actor.agent_id}
        takes = signature(self._part).parameters
        return self._part(*args, **kwargs, **{name: ids[name] for name in ids if name in takes})


class ServerLibrary:
    """The operations of a server, each with the actor first, as those of a ``Remembrancer``.

    It has the nouns of the client, and their verbs: what is in the library alone, such as
    ``records``, works on a store in this process.
    """

    if TYPE_CHECKING:
        memories: MemoryOperations
        review: Reviews
        associations: Associations
        places: Places
        documents: Documents
        conversations: ConversationOperations
        users: UserOperations
        agents: AgentOperations
        tools: Registry
        preferences: Preferences
        policies: Policies
        moves: Moves
        spaces: SpaceOperations
        facts: Facts
        keys: Keys
        jobs: Jobs
        audit: AuditLog
        usage: Usage
        retention: Retention
        workspaces: WorkspaceOperations[Remembrancer]

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self.remember, self.recall = client.remember, client.recall
        for name, part in vars(client).items():
            if isinstance(part, Group):
                setattr(self, name, _Noun(part, name))

"""Memories, recall, and the graph between them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from remembrancer.associations.schemas import (
    Association,
    AssociationPage,
    Neighbourhood,
    Suggestions,
)
from remembrancer.client.calls import Call, Many, call, part, sent, whom, with_whom
from remembrancer.client.operations import By, Group, listing, listing_of, operation
from remembrancer.erasure.schemas import Receipt
from remembrancer.facts.schemas import VisibilityUpdate
from remembrancer.memories.schemas import (
    AssociationCreate,
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryHistory,
    MemoryPage,
    MemoryUpdate,
    MemoryUpdateResult,
    Relation,
    RememberRefusal,
    RememberResult,
)
from remembrancer.recall.schemas import RecallAnswer, RecallQuery
from remembrancer.review.schemas import ReviewDecision, ReviewResult

_IN_QUERY: Final = {
    "kinds": "kind",
    "categories": "category",
    "statuses": "status",
    "reviews": "review",
}


def memories_of(page: MemoryPage) -> Sequence[Memory]:
    """Return the memories of a page."""
    return page.memories


def query_of(wanted: MemoryFilter | None) -> Mapping[str, Any]:
    """Return which memories are asked for, as a query says it."""
    given = sent(wanted) if wanted is not None else {}
    return {_IN_QUERY.get(name, name): value for name, value in given.items()}


def _memory(memory_id: str, *parts: object) -> str:
    return "/".join(["/api/memory", part(memory_id), *map(str, parts)])


class Memories(Group[By]):
    """Memories. ``user_id`` and ``agent_id`` say for whom; a user key need not."""

    @operation
    def remember(
        self,
        memory: MemoryCreate,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[RememberResult]:
        """Remember a statement; raises ``SimilarMemoryExists`` like the library."""
        body = with_whom(memory, user_id, agent_id)
        return call(
            "POST", "/api/memory/", RememberResult, body=body, key=idempotency_key, keyed=True
        )

    @operation
    def remember_many(
        self,
        memories: Sequence[MemoryCreate],
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        idempotency_key: str | None = None,
    ) -> Call[Many[RememberResult | RememberRefusal]]:
        """Remember many statements in one transaction; says of each what became of it."""
        body = {"memories": sent(Many(memories)), **whom(user_id, agent_id)}
        return call(
            "POST",
            "/api/memory/bulk",
            Many[RememberResult | RememberRefusal],
            inside="results",
            body=body,
            key=idempotency_key,
            keyed=True,
        )

    @operation
    def recall(
        self,
        wanted: RecallQuery,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[RecallAnswer]:
        """Recall what helps with a query and may be told to this user through this agent."""
        body = with_whom(wanted, user_id, agent_id)
        return call("POST", "/api/memory/recall", RecallAnswer, body=body, safe=True)

    @listing_of(memories_of)
    def list(
        self,
        wanted: MemoryFilter | None = None,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[MemoryPage]:
        """List memories, the newest first unless sorted."""
        page = {"limit": limit, "cursor": cursor}
        query = {**query_of(wanted), **whom(user_id, agent_id), **page}
        return call("GET", "/api/memory/", MemoryPage, query=query)

    @listing_of(memories_of)
    def waiting(
        self,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[MemoryPage]:
        """List what waits for a user to look at it, the newest first."""
        query = {**whom(user_id, agent_id), "limit": limit, "cursor": cursor}
        return call("GET", "/api/memory/review", MemoryPage, query=query)

    @operation
    def review(
        self,
        decisions: Sequence[ReviewDecision],
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[Many[ReviewResult]]:
        """Confirm, reject or share memories that wait; says of each what became of it."""
        body = {"decisions": sent(Many(decisions)), **whom(user_id, agent_id)}
        return call("POST", "/api/memory/review", Many[ReviewResult], inside="results", body=body)

    @operation
    def get(
        self, memory_id: str, *, user_id: UUID | None = None, agent_id: UUID | None = None
    ) -> Call[MemoryHistory]:
        """Return a memory with its versions and mentions."""
        return call("GET", _memory(memory_id), MemoryHistory, query=whom(user_id, agent_id))

    @operation
    def update(
        self,
        memory_id: str,
        changes: MemoryUpdate,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        if_version: int | None = None,
    ) -> Call[MemoryUpdateResult]:
        """Make a new version of a memory; the old one stays in its history."""
        query = whom(user_id, agent_id)
        return call(
            "PUT",
            _memory(memory_id),
            MemoryUpdateResult,
            query=query,
            body=changes,
            if_version=if_version,
        )

    @operation
    def forget(
        self,
        memory_id: str,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        if_version: int | None = None,
    ) -> Call[Memory]:
        """Forget a memory; :meth:`restore` brings it back."""
        query = whom(user_id, agent_id)
        return call("DELETE", _memory(memory_id), Memory, query=query, if_version=if_version)

    @operation
    def restore(
        self, memory_id: str, *, user_id: UUID | None = None, agent_id: UUID | None = None
    ) -> Call[Memory]:
        """Bring back a memory that was forgotten."""
        return call("POST", _memory(memory_id, "restore"), Memory, query=whom(user_id, agent_id))

    @operation
    def activate(
        self, memory_id: str, *, user_id: UUID | None = None, agent_id: UUID | None = None
    ) -> Call[Memory]:
        """Take an inactive memory into use again."""
        query = whom(user_id, agent_id)
        return call("POST", _memory(memory_id, "activate"), Memory, query=query, safe=True)

    @operation
    def deactivate(
        self, memory_id: str, *, user_id: UUID | None = None, agent_id: UUID | None = None
    ) -> Call[Memory]:
        """Set a memory aside: out of recall, still in the document."""
        query = whom(user_id, agent_id)
        return call("POST", _memory(memory_id, "deactivate"), Memory, query=query, safe=True)

    @operation
    def pin(
        self, memory_id: str, *, user_id: UUID | None = None, agent_id: UUID | None = None
    ) -> Call[Memory]:
        """Pin a memory, so that no budget ever evicts it."""
        return call("PUT", _memory(memory_id, "pin"), Memory, query=whom(user_id, agent_id))

    @operation
    def unpin(
        self, memory_id: str, *, user_id: UUID | None = None, agent_id: UUID | None = None
    ) -> Call[Memory]:
        """Unpin a memory."""
        return call("DELETE", _memory(memory_id, "pin"), Memory, query=whom(user_id, agent_id))

    @operation
    def set_visibility(
        self,
        memory_id: str,
        change: VisibilityUpdate,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        if_version: int | None = None,
    ) -> Call[Memory]:
        """Share one's own fact with the members of its space, or make it private again."""
        path, query = _memory(memory_id, "visibility"), whom(user_id, agent_id)
        return call("PATCH", path, Memory, query=query, body=change, if_version=if_version)

    @operation
    def erase(
        self,
        memory_id: str,
        *,
        dry_run: bool = True,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[Receipt]:
        """Delete a memory for good; at first, only count."""
        query = {**whom(user_id, agent_id), "dry_run": dry_run}
        return call("POST", _memory(memory_id, "erase"), Receipt, query=query, safe=dry_run)


class Graph(Group[By]):
    """Associations between memories."""

    @operation
    def associate(
        self,
        memory_id: str,
        association: AssociationCreate,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[Association]:
        """Associate a memory with another, or give the association a new weight."""
        path, query = _memory(memory_id, "associations"), whom(user_id, agent_id)
        return call("PUT", path, Association, query=query, body=association)

    @operation
    def associate_by_post(
        self,
        memory_id: str,
        association: AssociationCreate,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[Association]:
        """Do what :meth:`associate` does, where only POST gets through."""
        path, query = _memory(memory_id, "associations"), whom(user_id, agent_id)
        return call("POST", path, Association, query=query, body=association, safe=True)

    @listing
    def associations(
        self,
        memory_id: str,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Call[AssociationPage]:
        """List the associations of a memory in both directions, the strongest first."""
        query = {**whom(user_id, agent_id), "limit": limit, "cursor": cursor}
        return call("GET", _memory(memory_id, "associations"), AssociationPage, query=query)

    @operation
    def dissociate(
        self,
        memory_id: str,
        target_id: str,
        relation: Relation | None = None,
        *,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[None]:
        """Remove the association from a memory to another; all of them without a relation."""
        query = {**whom(user_id, agent_id), "relation": relation}
        return call("DELETE", _memory(memory_id, "associations", part(target_id)), query=query)

    @operation
    def neighbours(
        self,
        memory_id: str,
        *,
        depth: int = 1,
        limit: int = 50,
        user_id: UUID | None = None,
        agent_id: UUID | None = None,
    ) -> Call[Neighbourhood]:
        """Return what lies around a memory as nodes and edges."""
        query = {**whom(user_id, agent_id), "depth": depth, "limit": limit}
        return call("GET", _memory(memory_id, "neighbours"), Neighbourhood, query=query)

    @operation
    def suggestions(
        self, memory_id: str, *, user_id: UUID | None = None, agent_id: UUID | None = None
    ) -> Call[Suggestions]:
        """Return associations that could be made from a memory."""
        query = whom(user_id, agent_id)
        return call("GET", _memory(memory_id, "suggestions"), Suggestions, query=query)

"""Memories, review, associations, places and documents."""

from collections.abc import Sequence
from typing import Unpack
from uuid import UUID

from remembrancer.access import Visibility
from remembrancer.associations.schemas import (
    Association,
    AssociationPage,
    Neighbourhood,
    Suggestions,
)
from remembrancer.client.calls import json_of
from remembrancer.client.operations import (
    By,
    ForAgent,
    ForAgentIfVersion,
    ForAgentOnce,
    ForAgentPage,
    Group,
    listing,
    operation,
)
from remembrancer.document.schemas import DocumentImport, DocumentImportResult, MemoryDocument
from remembrancer.erasure.schemas import Receipt
from remembrancer.memories import schemas
from remembrancer.memories.batch_schemas import ForgetManyResult, ForgetUndoResult
from remembrancer.memories.keywords import MemoryChanges, MemoryFilters
from remembrancer.paging import Items, Page
from remembrancer.places.schemas import Place, PlaceCreate, PlaceMention, PlaceResult
from remembrancer.recall.schemas import RecallAnswer, RecallQuery
from remembrancer.review.schemas import ReviewDecision, ReviewResult


class FilteredPage(ForAgentPage, MemoryFilters, total=False):
    """A page of memories that match filters, for a user and an agent."""


class FilteredOnce(ForAgentOnce, MemoryFilters, total=False):
    """A request about memories that match filters, which is carried out once."""


class Changes(ForAgentIfVersion, MemoryChanges, total=False):
    """Changes of one version of a memory, for a user and an agent."""


class Memories(Group[By]):
    """Memories, for a user and through an agent; a user's own key needs neither."""

    @operation("POST /api/memory", ids="body")
    def remember(
        self, memory: schemas.MemoryCreate, **ids: Unpack[ForAgentOnce]
    ) -> schemas.RememberResult:
        """Remember a statement. Raises ``SimilarMemoryExists`` as the library does."""

    @operation("POST /api/memory/bulk", ids="body", body=json_of)
    def remember_many(
        self, memories: Sequence[schemas.MemoryCreate], **ids: Unpack[ForAgentOnce]
    ) -> Items[schemas.RememberResult | schemas.RememberRefusal]:
        """Remember many statements in one transaction; return the result of each, in order."""

    @operation("POST /api/memory/recall", ids="body", safe=True)
    def recall(self, query: RecallQuery, **ids: Unpack[ForAgent]) -> RecallAnswer:
        """Recall what helps with a query and may be told to this user through this agent."""

    @listing("GET /api/memory", model=("filters", schemas.MemoryFilter))
    def list(
        self, filters: schemas.MemoryFilter | None = None, **ids: Unpack[FilteredPage]
    ) -> schemas.MemoryPage:
        """List memories, the newest first unless sorted. Filters are keywords too."""

    @operation("GET /api/memory/{memory_id}")
    def get(self, memory_id: str, **ids: Unpack[ForAgent]) -> schemas.MemoryHistory:
        """Return a memory with its versions and mentions."""

    @operation("PUT /api/memory/{memory_id}", model=("changes", schemas.MemoryUpdate))
    def update(
        self,
        memory_id: str,
        changes: schemas.MemoryUpdate | None = None,
        **ids: Unpack[Changes],
    ) -> schemas.MemoryUpdateResult:
        """Make a new version of a memory; the old one stays. Changes are keywords too."""

    @operation("DELETE /api/memory/{memory_id}")
    def forget(self, memory_id: str, **ids: Unpack[ForAgentIfVersion]) -> schemas.ForgetResult:
        """Forget a memory and the messages that say it; :meth:`restore` brings all back."""

    @operation(
        "POST /api/memory/forget",
        ids="body",
        body=json_of,
        model=("filters", schemas.MemoryFilter),
    )
    def forget_many(
        self,
        memory_ids: Sequence[str] = (),
        filters: schemas.MemoryFilter | None = None,
        *,
        dry_run: bool = False,
        **ids: Unpack[FilteredOnce],
    ) -> ForgetManyResult:
        """Forget memories by id, or all that match filters; with ``dry_run``, only count.

        Filters are keywords too.
        """

    @operation("POST /api/memory/forget/{undo_id}/undo")
    def undo_forget(self, undo_id: UUID, **ids: Unpack[ForAgent]) -> ForgetUndoResult:
        """Undo :meth:`forget_many`: its memories and their messages are as they were."""

    @operation("POST /api/memory/{memory_id}/restore")
    def restore(self, memory_id: str, **ids: Unpack[ForAgent]) -> schemas.Memory:
        """Bring back a forgotten memory and its messages."""

    @operation("POST /api/memory/{memory_id}/activate", safe=True)
    def activate(self, memory_id: str, **ids: Unpack[ForAgent]) -> schemas.Memory:
        """Use an inactive memory again."""

    @operation("POST /api/memory/{memory_id}/deactivate", safe=True)
    def deactivate(self, memory_id: str, **ids: Unpack[ForAgent]) -> schemas.Memory:
        """Set a memory aside: out of recall, still in the document."""

    @operation("PUT /api/memory/{memory_id}/pin")
    def pin(self, memory_id: str, **ids: Unpack[ForAgent]) -> schemas.Memory:
        """Pin a memory: the token budget never evicts it."""

    @operation("DELETE /api/memory/{memory_id}/pin")
    def unpin(self, memory_id: str, **ids: Unpack[ForAgent]) -> schemas.Memory:
        """Unpin a memory: the token budget may evict it again."""

    @operation("PATCH /api/memory/{memory_id}/visibility", body=json_of)
    def set_visibility(
        self, memory_id: str, visibility: Visibility, **ids: Unpack[ForAgentIfVersion]
    ) -> schemas.Memory:
        """Share one's own fact with the members of its space, or make it private again."""

    @operation("POST /api/memory/{memory_id}/erase")
    def erase(self, memory_id: str, *, dry_run: bool = True, **ids: Unpack[ForAgent]) -> Receipt:
        """Delete a memory and its withheld messages for good; with ``dry_run``, only count."""

    @operation("GET /api/users/{user}/memory-budget")
    def budget(self, *, adding: int = 0, **ids: Unpack[ForAgent]) -> schemas.BudgetPreview:
        """Return how much of a user's token budget is used, and what ``adding`` would evict."""


class Review(Group[By]):
    """Review of pending memories."""

    @listing("GET /api/memory/review")
    def list(self, **ids: Unpack[ForAgentPage]) -> schemas.MemoryPage:
        """List a user's pending memories, the newest first."""

    @operation("POST /api/memory/review", ids="body", body=json_of)
    def decide(
        self, decisions: Sequence[ReviewDecision], **ids: Unpack[ForAgent]
    ) -> Items[ReviewResult]:
        """Confirm, reject or share pending memories; return the result of each, in order."""


class Associations(Group[By]):
    """Associations between memories."""

    @operation("PUT /api/memory/{memory_id}/associations")
    def add(
        self, memory_id: str, association: schemas.AssociationCreate, **ids: Unpack[ForAgent]
    ) -> Association:
        """Associate a memory with another, or give the association a new weight."""

    @operation("DELETE /api/memory/{memory_id}/associations/{target_id}")
    def remove(
        self,
        memory_id: str,
        target_id: str,
        relation: schemas.Relation | None = None,
        **ids: Unpack[ForAgent],
    ) -> None:
        """Remove the association from a memory to another; all of them without a relation."""

    @listing("GET /api/memory/{memory_id}/associations")
    def list(self, memory_id: str, **ids: Unpack[ForAgentPage]) -> AssociationPage:
        """List the associations of a memory in both directions, the strongest first."""

    @operation("GET /api/memory/{memory_id}/neighbours")
    def neighbours(
        self, memory_id: str, *, depth: int = 1, limit: int = 50, **ids: Unpack[ForAgent]
    ) -> Neighbourhood:
        """Return the memories up to ``depth`` steps (1 or 2) away, as nodes and edges."""

    @operation("GET /api/memory/{memory_id}/suggestions")
    def suggestions(self, memory_id: str, **ids: Unpack[ForAgent]) -> Suggestions:
        """Suggest associations of a memory; none is made."""


class Places(Group[By]):
    """Places of a user."""

    @operation("POST /api/users/{user}/places")
    def add(self, place: PlaceCreate, **ids: Unpack[ForAgentOnce]) -> PlaceResult:
        """Remember a place; a place with the same id gains a mention."""

    @operation(
        "POST /api/users/{user}/places/{place_id}/mentions",
        body=lambda given: json_of(given["mention"]) or {},
    )
    def mention(
        self, place_id: str, mention: PlaceMention | None = None, **ids: Unpack[ForAgentOnce]
    ) -> Place:
        """Note a mention of a place."""

    @operation("GET /api/users/{user}/places/{place_id}")
    def get(self, place_id: str, **ids: Unpack[ForAgent]) -> Place:
        """Return a place with its latest 100 mentions."""

    @listing("GET /api/users/{user}/places")
    def list(self, **ids: Unpack[ForAgentPage]) -> Page[Place]:
        """List a user's places, the oldest first, each with its latest mentions."""


class Documents(Group[By]):
    """A user's memory as one document."""

    @operation("GET /api/users/{user}/memory-document")
    def get(self, **ids: Unpack[ForAgent]) -> MemoryDocument:
        """Return a user's memory as one document: all of it, or what an agent reads."""

    @operation("POST /api/users/{user}/memory-document", safe=True)
    def import_(self, document: DocumentImport, **ids: Unpack[ForAgent]) -> DocumentImportResult:
        """Add the facts and places that the user does not have. Safe to repeat."""

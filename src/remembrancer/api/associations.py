"""Associations of a memory: /api/memory/{memory_id}/associations, /neighbours, /suggestions."""

from typing import Annotated

from fastapi import Query

from remembrancer.api.dependencies import App, Paging, RequestActor
from remembrancer.api.endpoints import Router
from remembrancer.api.memories import MemoryId
from remembrancer.associations import schemas
from remembrancer.memories.schemas import AssociationCreate, Relation

router = Router(prefix="/api/memory/{memory_id}", tags=["graph"])


@router.put("/associations", operation_id="replace_association")
@router.post("/associations")
async def associate_memory(
    app: App, actor: RequestActor, memory_id: MemoryId, association: AssociationCreate
) -> schemas.Association:
    """Associate a memory with another, or give the association a new weight.

    The actor must be allowed to change the memory and to see the target.
    """
    return await app.associations.add(actor, memory_id, association)


@router.get("/associations")
async def list_associations(
    app: App, actor: RequestActor, memory_id: MemoryId, page: Paging
) -> schemas.AssociationPage:
    """List the associations of a memory in both directions, the strongest first."""
    return await app.associations.list(actor, memory_id, **page)


@router.delete("/associations/{target_id}", status_code=204)
async def dissociate_memory(
    app: App,
    actor: RequestActor,
    memory_id: MemoryId,
    target_id: MemoryId,
    relation: Annotated[Relation | None, Query(description="Only this relation.")] = None,
) -> None:
    """Remove the associations from a memory to another: one `relation`, or all."""
    await app.associations.remove(actor, memory_id, target_id, relation)


@router.get("/neighbours")
async def list_neighbours(
    app: App,
    actor: RequestActor,
    memory_id: MemoryId,
    depth: Annotated[int, Query(ge=1, le=2, description="Steps from the memory.")] = 1,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> schemas.Neighbourhood:
    """Return the memories up to `depth` steps away as nodes and edges, for a picture."""
    return await app.associations.neighbours(actor, memory_id, depth=depth, limit=limit)


@router.get("/suggestions")
async def list_suggestions(
    app: App, actor: RequestActor, memory_id: MemoryId
) -> schemas.Suggestions:
    """Suggest associations from a memory. None is added."""
    return await app.associations.suggestions(actor, memory_id)

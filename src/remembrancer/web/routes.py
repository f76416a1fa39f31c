"""All pages, as one router."""

from fastapi import APIRouter

from remembrancer.web import (
    admin,
    agents,
    assets,
    conversations,
    document,
    graph,
    memories,
    memory,
    people,
    places,
    playground,
    preferences,
    profile,
    review,
    signing,
    spaces,
)

router = APIRouter(include_in_schema=False)
for part in (
    assets, signing, profile, memories, memory, review, places, document, spaces, preferences,
    conversations, graph, playground, agents, people, admin,
):  # fmt: skip
    router.include_router(part.router)

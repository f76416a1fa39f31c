"""All pages, as one router."""

from fastapi import APIRouter

from remembrancer.web import (
    admin,
    agents,
    assets,
    conversations,
    graph,
    memories,
    people,
    playground,
    preferences,
    profile,
    signing,
)

router = APIRouter(include_in_schema=False)
for part in (
    assets, signing, profile, memories, preferences, conversations, graph, playground, agents,
    people, admin,
):  # fmt: skip
    router.include_router(part.router)

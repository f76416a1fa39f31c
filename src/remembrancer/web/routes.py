"""The router of all pages."""

from fastapi import APIRouter, Depends

from remembrancer.web import (
    admin,
    audit,
    bulk,
    conversations,
    document,
    documentation,
    filters,
    graph,
    history,
    home,
    keys,
    languages,
    login,
    memories,
    memory,
    pages,
    people,
    places,
    playground,
    preferences,
    profile,
    review,
    shared,
    spaces,
    start,
    timeline,
    usage,
    welcome,
    workspaces,
)

router = APIRouter(include_in_schema=False, dependencies=[Depends(languages.use)])
for part in (
    pages, login, welcome, start, history, people, home, profile, keys, bulk, memories, filters,
    memory, review, places, document, spaces, preferences, conversations, timeline, graph,
    playground, shared, usage, audit, workspaces, admin,
):  # fmt: skip
    router.include_router(part.router)
documentation.install(router)

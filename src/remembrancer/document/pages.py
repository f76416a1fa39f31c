"""Pages of a memory document. Pure."""

from typing import Final

from remembrancer.document.schemas import (
    DocumentPage,
    MemoryDocument,
    MemoryFact,
    PlacePoi,
    PoiMentions,
)

PER_PAGE: Final = 100
"""The most facts of a page, and the most places."""
LATEST: Final = 100
"""The most mentions of a place on a page."""


def page_of(document: MemoryDocument, number: int) -> DocumentPage:
    """Return page ``number``, counted from 1. A page after the last is empty."""
    facts = document.facts[(number - 1) * PER_PAGE : number * PER_PAGE]
    return with_facts(facts, document, number)


def with_facts(facts: list[MemoryFact], document: MemoryDocument, number: int) -> DocumentPage:
    """Return page ``number`` with its facts, and the places and the metadata of ``document``."""
    start, end = (number - 1) * PER_PAGE, number * PER_PAGE
    places = document.placer_user_datapoints
    more = max(document.metadata.total_facts, len(places)) > end
    return DocumentPage(
        facts=facts,
        placer_user_datapoints=[_shortened(place) for place in places[start:end]],
        metadata=document.metadata,
        next_page=number + 1 if more else None,
    )


def _shortened(place: PlacePoi) -> PlacePoi:
    times = sorted((at for _, _, at in place.mentions()), reverse=True)
    if len(times) <= LATEST:
        return place
    oldest = times[LATEST - 1]
    latest: PoiMentions = {
        conversation_id: mentions
        for conversation_id, all_mentions in place.mentioned_in.items()
        if (mentions := [mention for mention in all_mentions if mention[1] >= oldest])
    }
    return place.model_copy(update={"mentioned_in": latest})

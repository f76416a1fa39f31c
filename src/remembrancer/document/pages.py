"""A memory document in pages, for readers that take only so much at a time. Pure."""

from typing import Final

from remembrancer.document.schemas import DocumentPage, MemoryDocument, PlacePoi, PoiMentions

PER_PAGE: Final = 100
"""Facts on one page, and places."""
LATEST: Final = 100
"""Mentions of one place that a page shows."""


def page_of(document: MemoryDocument, number: int) -> DocumentPage:
    """Return page ``number``, counted from 1. A page after the last is empty."""
    start, end = (number - 1) * PER_PAGE, number * PER_PAGE
    places = document.placer_user_datapoints
    more = max(len(document.facts), len(places)) > end
    return DocumentPage(
        facts=document.facts[start:end],
        placer_user_datapoints=[_shortened(place) for place in places[start:end]],
        metadata=document.metadata,
        next_page=number + 1 if more else None,
    )


def _shortened(place: PlacePoi) -> PlacePoi:
    times = sorted((at for _, _, at in place.mentions()), reverse=True)
    if len(times) <= LATEST:
        return place
    oldest = times[LATEST - 1]
    kept: PoiMentions = {
        where: latest
        for where, said in place.mentioned_in.items()
        if (latest := [mention for mention in said if mention[1] >= oldest])
    }
    return place.model_copy(update={"mentioned_in": kept})

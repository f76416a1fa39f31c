"""Which facts of a model's answer are kept, in whose memory, and as what. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from pydantic import ValidationError

from remembrancer.conversations.schemas import MessageRole
from remembrancer.extraction import dates
from remembrancer.extraction.prompts.extract import EVERYONE, FactFound, ShownLine
from remembrancer.extraction.transcript import Line, Transcript, one_line
from remembrancer.memories.schemas import Kind, MemoryCreate

_UTC: Final = "UTC"


@dataclass(frozen=True, slots=True)
class Kept:
    """A fact on its way into somebody's memory."""

    owner_id: UUID
    statement: MemoryCreate
    updates: str | None = None
    """The memory of theirs that it is a new version of."""
    hearsay: bool = False
    """Somebody else said it: it waits until its owner confirms it."""


@dataclass(frozen=True, slots=True)
class Background:
    """What is known of a transcript besides its words."""

    zones: Mapping[UUID, str]
    """The time zone of each person."""
    known: Mapping[str, UUID]
    """Whose each memory is that the model was shown, by id."""
    platform: str | None = None


def shown(talk: Transcript, zones: Mapping[UUID, str]) -> list[ShownLine]:
    """Return the lines of a transcript as a model sees them, each with its day."""
    return [
        ShownLine(
            number,
            f"{dates.local(line.sent_at, zones.get(line.owner_id, _UTC)):%Y-%m-%d %a}",
            line.name,
            line.role is MessageRole.ASSISTANT,
            line.words,
        )
        for number, line in enumerate(talk.lines, 1)
    ]


def kept(found: Sequence[FactFound], talk: Transcript, background: Background) -> list[Kept]:
    """Return the facts that may be kept, each in the memory of whom it is about.

    A fact must rest on a line that a person said: what only an assistant said, or nobody, is
    none. It goes into the memory of the person named, and nowhere if nobody in the transcript
    has that name. One about everyone is kept for each person who spoke.
    """
    return [
        made
        for fact in found
        if (source := _source(fact, talk))
        for owner_id in _owners(fact, talk)
        if (made := _made(fact, owner_id, source, talk, background))
    ]


def _source(fact: FactFound, talk: Transcript) -> Line | None:
    """Return the line that a fact rests on: a person's, theirs whom it is about if there is one."""
    said = [line for line in _cited(fact, talk) if line.role is MessageRole.USER]
    about = talk.people.get(one_line(fact.about))
    return next((line for line in said if line.owner_id == about), said[0] if said else None)


def _cited(fact: FactFound, talk: Transcript) -> list[Line]:
    numbers = sorted(set(fact.lines))
    return [talk.lines[n - 1] for n in numbers if 1 <= n <= len(talk.lines)]


def _owners(fact: FactFound, talk: Transcript) -> list[UUID]:
    name = one_line(fact.about)
    if name in talk.people:
        return [talk.people[name]]
    if name.casefold() == EVERYONE:
        return sorted(set(talk.people.values()))
    return []


def _made(
    fact: FactFound, owner_id: UUID, source: Line, talk: Transcript, background: Background
) -> Kept | None:
    zone = background.zones.get(source.owner_id, _UTC)
    resolved = dates.resolve(one_line(fact.content), source.sent_at, zone)
    begins, ends = _interval(fact, resolved, zone)
    try:
        statement = MemoryCreate(
            content=resolved.words,
            kind=fact.kind,
            category=fact.category,
            subject=one_line(fact.subject or "") or None,
            valid_from=begins,
            valid_to=ends,
            platform=background.platform,
            conversation_id=talk.conversation_id,
            message_id=source.message_id,
            # The model was shown what is near: what it does not call a change is none.
            allow_similar=True,
        )
    except ValidationError:
        return None
    everyone = one_line(fact.about).casefold() == EVERYONE
    mine = fact.updates if background.known.get(fact.updates or "") == owner_id else None
    theirs = any(
        line.owner_id == owner_id and line.role is MessageRole.USER for line in _cited(fact, talk)
    )
    return Kept(owner_id, statement, mine, hearsay=not theirs and not everyone)


def _interval(
    fact: FactFound, resolved: dates.Resolved, zone: str
) -> tuple[datetime | None, datetime | None]:
    """Return since and until when a fact holds: as the model says, else as its words do."""
    first, last = (dates.interval(one, zone) for one in (fact.valid_from, fact.valid_to))
    if first or last:
        begins, ends = first[0] if first else None, last[1] if last else None
    else:
        begins, ends = resolved.valid_from, resolved.valid_to
        # What happened is over with its day; what was so on a day may still be.
        if fact.kind is not Kind.EVENT and begins is not None:
            ends = None
    if begins is not None and ends is not None and begins >= ends:
        return None, None
    return begins, ends

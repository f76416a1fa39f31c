"""Facts of users, from the answer of a model. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from pydantic import ValidationError

from remembrancer.associations.rules import telling_words
from remembrancer.conversations.schemas import MessageRole
from remembrancer.extraction import dates
from remembrancer.extraction.prompts.extract import EVERYONE, ModelFact, PromptLine, Topic
from remembrancer.extraction.schemas import ExtractedFact, GivenVersion
from remembrancer.extraction.transcript import Line, Transcript
from remembrancer.memories.sameness import says_the_same
from remembrancer.memories.schemas import Kind, MemoryCreate
from remembrancer.sanitizer import visible_line

_UTC: Final = "UTC"
_PRONOUNS: Final = frozenset(
    """
    he she it they him her them his hers theirs er sie es ihn ihr ihm él ella ello ellos ellas
    il elle lui ils elles lei loro ele ela eles elas hij zij ze hem haar он она они
    他 她 它 他们 她们 彼 彼女
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Background:
    """Facts about a transcript that are not in its lines."""

    zones: Mapping[UUID, str]
    """Time zones by user."""
    owners: Mapping[str, UUID]
    """Owners of the memories in the prompt, by memory id."""
    platform: str | None = None
    topic: Topic | None = None


def prompt_lines(transcript: Transcript, zones: Mapping[UUID, str]) -> list[PromptLine]:
    """Return the lines of a transcript, each with its sender's local day."""
    return [
        PromptLine(
            number,
            f"{dates.local(line.sent_at, zones.get(line.owner_id, _UTC)):%Y-%m-%d %a}",
            line.name,
            line.role is MessageRole.ASSISTANT,
            line.words,
        )
        for number, line in enumerate(transcript.lines, 1)
    ]


def extracted_facts(
    answer: Sequence[ModelFact], transcript: Transcript, background: Background
) -> list[ExtractedFact]:
    """Return the facts of an answer that may be stored, each for the person it is about.

    A fact must cite a user's line; an assistant's is not enough. A fact about everyone is stored
    for each speaker, one about the subject of a space for whoever said it, and one about another
    name that is not in the transcript for nobody.
    """
    return [
        extracted
        for fact in answer
        if (source := _source(fact, transcript))
        for owner_id in _owners(fact, source, transcript, background.topic)
        if (extracted := _extracted(fact, owner_id, source, transcript, background))
    ]


def _source(fact: ModelFact, transcript: Transcript) -> Line | None:
    """Return the cited line of the person the fact is about, else of another user."""
    lines = [line for line in _cited(fact, transcript) if line.role is MessageRole.USER]
    about = transcript.people.get(visible_line(fact.about))
    return next((line for line in lines if line.owner_id == about), lines[0] if lines else None)


def _cited(fact: ModelFact, transcript: Transcript) -> list[Line]:
    lines = transcript.lines
    return [lines[number - 1] for number in sorted(set(fact.lines)) if 1 <= number <= len(lines)]


def _owners(
    fact: ModelFact, source: Line, transcript: Transcript, topic: Topic | None
) -> list[UUID]:
    name = visible_line(fact.about)
    if name in transcript.people:
        return [transcript.people[name]]
    if topic is not None and name.casefold() == topic.name.casefold():
        return [source.owner_id]
    return sorted(set(transcript.people.values())) if _is_about_everyone(fact) else []


def _subject(fact: ModelFact, source: Line, topic: Topic | None) -> str | None:
    """Return the subject of a fact: in a space its name, unless the fact says otherwise."""
    subject = visible_line(fact.subject or "") or None
    if topic is None or (subject and subject.casefold() not in _PRONOUNS):
        return subject
    return None if fact.content.startswith(f"{source.name} ") else topic.name


def _is_about_everyone(fact: ModelFact) -> bool:
    return visible_line(fact.about).casefold() == EVERYONE


def _extracted(
    fact: ModelFact, owner_id: UUID, source: Line, transcript: Transcript, background: Background
) -> ExtractedFact | None:
    zone = background.zones.get(source.owner_id, _UTC)
    dated = dates.resolve(visible_line(fact.content), source.sent_at, zone)
    valid_from, valid_to = _interval(fact, dated, zone)
    try:
        memory = MemoryCreate(
            content=dated.text,
            kind=fact.kind,
            category=fact.category,
            subject=_subject(fact, source, background.topic),
            valid_from=valid_from,
            valid_to=valid_to,
            platform=background.platform,
            conversation_id=transcript.conversation_id,
            message_id=source.message_id,
            # The prompt has the nearest memories; the model names the one that it changes.
            allow_similar=True,
        )
    except ValidationError:
        return None
    owned = fact.updates is not None and background.owners.get(fact.updates) == owner_id
    own_words = any(
        line.owner_id == owner_id and line.role is MessageRole.USER
        for line in _cited(fact, transcript)
    )
    return ExtractedFact(
        owner_id,
        memory,
        fact.updates if owned else None,
        pending=not own_words and not _is_about_everyone(fact),
    )


def is_given(memory: MemoryCreate, before: GivenVersion) -> bool:
    """Say whether a fact is what its messages gave before: one statement, not from another day.

    Of what the owner has forgotten, a filler word more is no difference.
    """
    if (
        None not in {memory.valid_from, before.valid_from}
        and memory.valid_from != before.valid_from
    ):
        return False
    return says_the_same(memory.content, before.content) or (
        before.forgotten and telling_words(memory.content) == telling_words(before.content)
    )


def may_be_forgotten(memory: MemoryCreate, before: GivenVersion) -> bool:
    """Say whether a fact may be one its owner has forgotten, in other words.

    A sign, a number or an emoji that differs makes it another one.
    """
    return before.forgotten and _signs(memory.content) == _signs(before.content)


def _signs(statement: str) -> set[str]:
    return {word for word in telling_words(statement) if not word.replace("'", "").isalpha()}


def _interval(
    fact: ModelFact, dated: dates.DatedText, zone: str
) -> tuple[datetime | None, datetime | None]:
    """Return the interval in the model's answer, else that of the fact's words."""
    first, last = (dates.interval(day, zone) for day in (fact.valid_from, fact.valid_to))
    if first or last:
        begin, end = first[0] if first else None, last[1] if last else None
    else:
        begin, end = dated.valid_from, dated.valid_to
        # An event ends with its day; another fact of that day may still hold.
        if fact.kind is not Kind.EVENT and begin is not None:
            end = None
    if begin is not None and end is not None and begin >= end:
        return None, None
    return begin, end

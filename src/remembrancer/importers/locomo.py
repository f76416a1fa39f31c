"""LoCoMo files: long conversations of two people, in dated sessions.

A conversation becomes one that both take part in and recall. The same first name in two
conversations is two people, so people are named ``conv-26:Caroline``.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.exported_conversations import (
    Transcript,
    Turn,
    first_reason,
    transcript,
    wrong,
)
from remembrancer.text import Key, Label, Statement

PLATFORM = "locomo"
_SESSION = re.compile(r"session_(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"


class Said(BaseModel):
    """One turn; what else a file says of it, such as image captions, is left aside."""

    model_config = ConfigDict(extra="ignore")

    speaker: Label
    dia_id: Key
    text: Statement


class Sample(BaseModel):
    """One entry of a file; its questions and summaries are left aside."""

    model_config = ConfigDict(extra="ignore")

    sample_id: Key
    conversation: dict[str, Any]


class _Pair(BaseModel):
    speaker_a: Label
    speaker_b: Label


def looks_like(content: Any) -> bool:
    """Say whether parsed JSON is a LoCoMo file."""
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, dict) and isinstance(first.get("conversation"), dict)


def read_locomo(content: Any, file: str) -> list[Transcript]:
    """Return the conversations of a LoCoMo file."""
    if not isinstance(content, list):
        raise wrong(file, "is not a list of LoCoMo conversations")
    talks = [_talk(entry, f"{file}, conversation {n}") for n, entry in enumerate(content, 1)]
    names = [talk.conversation for talk in talks]
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            raise wrong(f"{file}, conversation {number}, sample_id", "occurs twice in the file")
    return talks


def _talk(entry: Any, where: str) -> Transcript:
    try:
        sample = Sample.model_validate(entry)
        pair = _Pair.model_validate(sample.conversation)
    except ValidationError as error:
        raise first_reason(where, error) from None
    speakers = {pair.speaker_a, pair.speaker_b}
    turns = list(_turns(sample, speakers, where))
    if not turns:
        raise wrong(where, "holds no session with anything said in it")
    return transcript(
        PLATFORM,
        sample.sample_id,
        turns,
        title=f"{pair.speaker_a} and {pair.speaker_b}",
        together=True,
    )


def _turns(sample: Sample, speakers: set[str], where: str) -> Iterator[Turn]:
    seen: set[str] = set()
    for name, session in _sessions(sample.conversation):
        place = f"{where}, {name}"
        if not isinstance(session, list):
            raise wrong(place, "is not a list of turns")
        at = _time(sample.conversation, name, where) if session else None
        for number, entry in enumerate(session, 1):
            said = _said(entry, f"{place}, turn {number}")
            if said.speaker not in speakers:
                raise wrong(f"{place}, turn {number}, speaker", "is neither of the two speakers")
            if said.dia_id in seen:
                raise wrong(f"{place}, turn {number}, dia_id", "occurs twice in the conversation")
            seen.add(said.dia_id)
            yield _turn(sample.sample_id, said, at)


def _sessions(conversation: Mapping[str, Any]) -> list[tuple[str, Any]]:
    numbered = [
        (int(match[1]), name, session)
        for name, session in conversation.items()
        if (match := _SESSION.fullmatch(name))
    ]
    return [(name, session) for _, name, session in sorted(numbered, key=lambda entry: entry[0])]


def _time(conversation: Mapping[str, Any], session: str, where: str) -> datetime:
    field = f"{session}_date_time"
    written = conversation.get(field)
    try:
        return datetime.strptime(str(written).strip(), _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise wrong(f"{where}, {field}", "is not a time such as 1:56 pm on 8 May, 2023") from None


def _said(entry: Any, where: str) -> Said:
    try:
        return Said.model_validate(entry)
    except ValidationError as error:
        raise first_reason(where, error) from None


def _turn(sample_id: str, said: Said, at: datetime | None) -> Turn:
    return Turn(
        role=MessageRole.USER,
        content=said.text,
        sender=said.speaker,
        platform_user_id=f"{sample_id}:{said.speaker}",
        sent_at=at,
        message_id=said.dia_id,
    )

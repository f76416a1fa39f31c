"""LoCoMo files: long conversations of two people, in dated sessions.

Both people take part in the conversation and recall it. The same first name in two
conversations is two people, so ids are like ``conv-26:Caroline``.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.exported_conversations import Transcript, Turn, to_transcript
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, invalid, validated
from remembrancer.text import Key, Label, Statement

PLATFORM = "locomo"
_SESSION = re.compile(r"session_(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"


class LocomoTurn(BaseModel):
    model_config = ConfigDict(extra="ignore")

    speaker: Label
    dia_id: Key
    text: Statement


class LocomoSample(BaseModel):
    model_config = ConfigDict(extra="ignore")

    sample_id: Annotated[Key, Field(max_length=50)]
    conversation: dict[str, Any]


class _Pair(BaseModel):
    speaker_a: Label
    speaker_b: Label


def looks_like(content: Any) -> bool:
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, dict) and isinstance(first.get("conversation"), dict)


def read(bundle: Bundle, _options: Options, _notes: Notes) -> Iterator[Transcript]:
    member = main(bundle)
    content = member.json()
    if not isinstance(content, list):
        raise invalid(member.where, "is not a list of LoCoMo conversations")
    names: set[str] = set()
    for number, value in enumerate(content, 1):
        where = f"{member.where}, conversation {number}"
        transcript = _transcript(value, where)
        if transcript.conversation in names:
            raise invalid(f"{where}, sample_id", "occurs twice in the file")
        names.add(transcript.conversation)
        yield transcript


def _transcript(value: Any, where: str) -> Transcript:
    sample = validated(LocomoSample, value, where)
    pair = validated(_Pair, sample.conversation, where)
    turns = list(_turns(sample, {pair.speaker_a, pair.speaker_b}, where))
    if not turns:
        raise invalid(where, "has no session with a turn in it")
    return to_transcript(
        PLATFORM,
        sample.sample_id,
        turns,
        title=f"{pair.speaker_a} and {pair.speaker_b}",
        together=True,
    )


def _turns(sample: LocomoSample, speakers: set[str], where: str) -> Iterator[Turn]:
    ids: set[str] = set()
    for name, session in _sessions(sample.conversation):
        if not isinstance(session, list):
            raise invalid(f"{where}, {name}", "is not a list of turns")
        at = _time(sample.conversation, name, where) if session else None
        for number, value in enumerate(session, 1):
            position = f"{where}, {name}, turn {number}"
            turn = validated(LocomoTurn, value, position)
            if turn.speaker not in speakers:
                raise invalid(f"{position}, speaker", "is neither of the two speakers")
            if turn.dia_id in ids:
                raise invalid(f"{position}, dia_id", "occurs twice in the conversation")
            ids.add(turn.dia_id)
            yield Turn(
                role=MessageRole.USER,
                content=turn.text,
                sender=turn.speaker,
                platform_user_id=f"{sample.sample_id}:{turn.speaker}",
                sent_at=at,
                message_id=turn.dia_id,
            )


def _sessions(conversation: Mapping[str, Any]) -> list[tuple[str, Any]]:
    numbered = [
        (int(match[1]), name, session)
        for name, session in conversation.items()
        if (match := _SESSION.fullmatch(name))
    ]
    return [(name, session) for _, name, session in sorted(numbered, key=lambda entry: entry[0])]


def _time(conversation: Mapping[str, Any], session: str, where: str) -> datetime:
    field = f"{session}_date_time"
    text = str(conversation.get(field)).strip()
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise invalid(f"{where}, {field}", "is not a time such as 1:56 pm on 8 May, 2023") from None

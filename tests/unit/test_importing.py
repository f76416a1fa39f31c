import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remembrancer import InvalidInput
from remembrancer.importers import Format, Transcript, read_export


def jsonl(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def document(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def locomo(**changes: Any) -> list[dict[str, Any]]:
    conversation = {
        "speaker_a": "Ines",
        "speaker_b": "Tomas",
        "session_10_date_time": "12:05 am on 1 March, 2024",
        "session_10": [{"speaker": "Tomas", "dia_id": "D10:1", "text": "The roof is result."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ines", "dia_id": "D2:1", "text": "I bought a boat."},
            {"speaker": "Tomas", "dia_id": "D2:2", "text": "A boat!", "blip_caption": "a boat"},
        ],
    }
    return [{"sample_id": "conv-1", "qa": [], "conversation": conversation | changes}]


def ids(transcript: Transcript) -> list[str | None]:
    return [message.platform_message_id for message in transcript.messages()]


def test_lines_become_conversations(tmp_path: Path) -> None:
    """Each line lands in the conversation and on the platform it names, or in the file's own."""
    file = jsonl(
        tmp_path / "kitchen.jsonl",
        {"content": "Hello", "sender": "Ada", "sent_at": "2026-01-02T03:04:05+01:00"},
        {"content": "Hi", "role": "assistant"},
        {"content": "Ahoy", "sender": "Bob", "conversation": "boat", "platform": "discord"},
    )
    kitchen, boat = read_export(file, platform="slack")
    assert (kitchen.platform, kitchen.conversation) == ("slack", "kitchen")
    assert (boat.platform, boat.conversation) == ("discord", "boat")
    assert kitchen.people == {"Ada": "Ada"}
    assert kitchen.turns[0].sent_at == datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)
    assert kitchen.turns[1].platform_user_id is None


def test_a_time_without_a_zone_is_utc(tmp_path: Path) -> None:
    """What a file leaves open about time zones is UTC, on whatever machine."""
    [transcript] = read_export(
        jsonl(tmp_path / "a.jsonl", {"content": "x", "sender": "A", "sent_at": "2026-01-02T03:04"})
    )
    assert transcript.turns[0].sent_at == datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def test_a_line_separator_in_a_message_does_not_end_its_line(tmp_path: Path) -> None:
    """JSON may hold U+2028 unescaped; only line feeds end a line."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": "one\u2028two", "sender": "Ada"}\n\n', encoding="utf-8")
    assert read_export(path)[0].turns[0].content == "one\u2028two"


def test_documents_are_conversations(tmp_path: Path) -> None:
    """JSON holds conversations; those without a name get the file's, numbered from the second."""
    said = [{"content": "x", "sender": "Ada"}]
    transcripts = read_export(document(tmp_path / "d.json", [{"messages": said, "title": "T"}] * 2))
    assert [transcript.conversation for transcript in transcripts] == ["d", "d-2"]
    assert transcripts[0].title == "T"
    assert len(read_export(document(tmp_path / "one.json", {"messages": said}))) == 1


def test_locomo_sessions_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    """Session 2 comes before session 10, with its time, its speakers and its turns' ids."""
    [transcript] = read_export(document(tmp_path / "locomo.json", locomo()))
    assert ids(transcript) == ["D2:1", "D2:2", "D10:1"]
    assert transcript.turns[0].sent_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert transcript.turns[2].sent_at == datetime(2024, 3, 1, 0, 5, tzinfo=UTC)
    assert transcript.people == {"conv-1:Ines": "Ines", "conv-1:Tomas": "Tomas"}
    assert transcript.together
    assert (transcript.platform, transcript.conversation) == ("locomo", "conv-1")


def test_ids_follow_what_was_said_not_where(tmp_path: Path) -> None:
    """A line put before others changes no id, and equal lines have ids of their own."""
    first, second = {"content": "Yes.", "sender": "Ada"}, {"content": "No.", "sender": "Ada"}
    [before] = read_export(jsonl(tmp_path / "a.jsonl", first, first))
    [after] = read_export(jsonl(tmp_path / "a.jsonl", second, first, first))
    assert len(set(ids(before))) == 2
    assert ids(after)[1:] == ids(before)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"sender": "Ada"}, "line 2, content: is required"),
        ({"content": " "}, "line 2, content: must not be empty"),
        ({"content": "secret", "role": "boss"}, "line 2, role: must be"),
        ({"content": "secret", "sent_at": "yesterday"}, "line 2, sent_at: is not a time"),
        ({"content": "secret", "sent_at": 5}, "line 2, sent_at: is not a time"),
        ({"content": "secret", "text": "?"}, "line 2, text: is an unknown field"),
        ({"content": "secret\x00"}, "line 2, content: has a NUL"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: dict[str, Any], reason: str) -> None:
    """The error names file, line, field and reason, and nothing that was said."""
    file = jsonl(tmp_path / "bad.jsonl", {"content": "fine", "sender": "Ada"}, line)
    with pytest.raises(InvalidInput) as error:
        read_export(file)
    assert str(error.value).startswith(f"bad.jsonl, {reason}")
    assert "secret" not in str(error.value)


def test_an_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    """Two messages of a conversation cannot have the same id."""
    line = {"content": "x", "sender": "Ada", "message_id": "7"}
    with pytest.raises(InvalidInput, match=r"line 2, message_id: occurs twice"):
        read_export(jsonl(tmp_path / "a.jsonl", line, line))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"session_2_date_time": "noon"}, "session_2_date_time: is not a time"),
        ({"session_2": "x"}, "session_2: is not a list"),
        (
            {"session_2": [{"speaker": "Eve", "dia_id": "D2:1", "text": "x"}]},
            "turn 1, speaker: is neither",
        ),
        ({"session_2": [{"speaker": "Ines", "dia_id": "D2:1"}]}, "turn 1, text: is required"),
        ({"speaker_b": None}, "speaker_b: must be"),
        ({"session_2": [], "session_10": []}, "has no session"),
    ],
)
def test_a_wrong_locomo_file_is_named(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    """The error names the conversation, the session and the field."""
    with pytest.raises(InvalidInput) as error:
        read_export(document(tmp_path / "l.json", locomo(**changes)), Format.LOCOMO)
    assert str(error.value).startswith("l.json, conversation 1")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (b"", "line 1: is not valid JSON"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[]", "has no messages"),
        (b"[1]", "conversation 1: must be"),
        (b'{"content": "a", "sender": "b"}\n{', "line 2: is not valid JSON"),
        (b'[{"messages": [{"content": "x", "platform": "y"}]}]', "belong beside messages"),
        (b'[{"messages": []}]', "messages: must have"),
    ],
)
def test_what_is_no_transcript_is_refused(tmp_path: Path, written: bytes, reason: str) -> None:
    """A file in no known shape is refused with its name and the reason."""
    (tmp_path / "f.json").write_bytes(written)
    with pytest.raises(InvalidInput, match=reason) as error:
        read_export(tmp_path / "f.json")
    assert str(error.value).startswith("f.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error names the path."""
    with pytest.raises(InvalidInput, match=r"absent\.json: no such file"):
        read_export(tmp_path / "absent.json")

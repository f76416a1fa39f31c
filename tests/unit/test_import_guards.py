"""What importers leave, choose or mend, each in a file of a few lines: no part of one is idle."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from exports import lines, saved, zipped

from remembrancer.importers import Options, open_export

AT = "2026-02-01T10:00:00Z"


def claude_code(key: str, role: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    texts = [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in blocks
    ]
    named = {"type": role, "uuid": key, "sessionId": "s", "timestamp": AT}
    return named | {"message": {"content": texts}} | more


def queued(key: str, **more: Any) -> dict[str, Any]:
    attachment = {"type": "queued_command", "prompt": key} | more
    return {"type": "attachment", "uuid": key, "sessionId": "s", "attachment": attachment}


def codex(**payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": "response_item", "payload": {"type": "message"} | payload}


CODEX = {"timestamp": AT, "type": "session_meta", "payload": {"id": "c", "source": "cli"}}

CHATS: list[tuple[str, Any, Sequence[str], Mapping[str, int]]] = [
    (
        "codex.jsonl",
        lines(
            CODEX,
            codex(role="user", content=[{"type": "input_image"}, {"type": "text", "text": "Hm?"}]),
            codex(type="reasoning", role="assistant", content=[{"type": "text", "text": "Hm."}]),
            codex(role="assistant", content=[{"type": "output_text", "text": "Ah."}]),
        ),
        ["None|None|[photo]\nHm?|0", "Codex|None|Ah.|0"],
        {"assistant item": 1},
    ),
    (
        "codex-agent.jsonl",
        lines(
            CODEX | {"payload": {"id": "c", "source": {"subagent": "review"}}},
            codex(role="user", content=[{"type": "input_text", "text": "Review it."}]),
        ),
        [],
        {"session of an agent that the model started": 1},
    ),
    (
        "claude-code.jsonl",
        lines(
            claude_code("a", "user", "Look.", {"type": "document", "title": "loom.pdf"}),
            claude_code("b", "assistant", "I see.", parentUuid="a"),
            claude_code("c", "user", "All so far: a loom.", isCompactSummary=True),
            claude_code("d", "user", "Be brief.", isMeta=True),
            claude_code("e", "assistant", "Overloaded.", isApiErrorMessage=True),
            queued("f", origin={"kind": "task-notification"}),
            queued("g", isMeta=True),
            queued("h", origin="x"),
        ),
        ["None|None|Look.\n[file: loom.pdf]|a", "Claude|None|I see.|b", "None|None|h|h"],
        {
            "summary of the session": 1, "note of the program": 1,
            "error of the model's service": 1,
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat[0])
def test_what_is_said(
    tmp_path: Path, chat: tuple[str, Any, Sequence[str], Mapping[str, int]]
) -> None:
    """Sender, platform id, words and message id (0 without one), and what is named and left."""
    name, content, said, skipped = chat
    write = zipped if name.endswith(".zip") else saved
    options = Options(time_zone=ZoneInfo("Europe/Paris"))
    export = open_export(write(tmp_path / name, content), options=options)
    assert [
        f"{turn.sender}|{turn.platform_user_id}|{turn.content}|{turn.message_id or 0}"
        for one in export.transcripts()
        for turn in one.turns
    ] == said
    assert export.notes.skipped == skipped

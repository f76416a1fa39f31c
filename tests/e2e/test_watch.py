"""A folder whose exports are imported as they appear."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import exports
import exports_of_people
import pytest
from exports import saved, zipped
from helpers import rows

from remembrancer import Remembrancer, User, as_actor
from remembrancer.importers import Format, importer
from remembrancer.importers.watch import Report, Watch
from remembrancer.importers.watch_state import WatchState
from remembrancer.importers.watched_folder import WatchedFolder
from remembrancer.recall.schemas import RecallQuery


class Watched:
    """A watch over a folder, and what it reports."""

    def __init__(self, memory: Remembrancer, user: User, folder: Path, **options: Any) -> None:
        self.reports: list[Report] = []
        self.heard = asyncio.Event()
        format_ = options.get("format_", Format.AUTO)
        self.state = WatchState.of(folder.parent / "data", [str(folder), format_])
        self.watch = Watch(
            memory, as_actor(user), WatchedFolder(folder, format_), self.state, self._hear,
            **({"still": 0.0} | options),
        )  # fmt: skip

    def _hear(self, report: Report) -> None:
        self.reports.append(report)
        self.heard.set()

    async def turn(self) -> dict[str, Any]:
        """What a look into the folder imports: messages and memories by file, or the reason."""
        self.reports.clear()
        await self.watch.turn()
        return {
            report.name: report.reason
            or (report.result and (report.result.messages_added, report.result.memories_added))
            for report in self.reports
        }


async def best(memory: Remembrancer, user: User, question: str) -> str:
    answer = await memory.memories.recall(as_actor(user), RecallQuery(query=question, limit=3))
    return answer.hits[0].content


async def test_what_appears_is_imported_once(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """Several at once, archives, what grows; renamed, gone and broken files too."""
    folder = tmp_path / "in"
    for name, content in exports.claude_code().items():
        saved(folder / "projects" / name, content)
    zipped(folder / "chatgpt.zip", exports.chatgpt_parts())
    whole = json.dumps(exports.librechat())
    cut = saved(folder / "strings.json", whole[:200])
    saved(folder / "cat.jpg", "x")
    sessions = sorted(f"projects/{n}" for n in exports.claude_code() if n.endswith(".jsonl"))
    watched = Watched(memory, ada, folder)
    reports = await watched.turn()
    counts = {name: reports.pop(name) for name in sessions}
    assert sorted(counts.values()) == [*[(0, 0)] * (len(sessions) - 1), (5, 0)]
    assert reports == {
        "*.jpg": "1 file left, of a kind that is not read",
        "*.md": "1 file left, of a kind that is not read",
        "chatgpt.zip": (8, 4),
        "strings.json": "line 1: is not valid JSON",
    }
    assert await watched.turn() == {}
    saved(cut, whole)
    session = max(counts, key=lambda name: counts[name])
    more = {
        "type": "user", "uuid": "late", "sessionId": "5e55104e-0000-4000-8000-000000000001",
        "timestamp": "2026-01-20T13:00:00.000Z", "message": {"content": "Weave it in hemp."},
    }  # fmt: skip
    with (folder / session).open("a") as file:
        file.write(f"\n{json.dumps(more)}\n")
    (folder / "chatgpt.zip").rename(folder / "renamed.zip")
    assert await watched.turn() == {"strings.json": (3, 0), session: (1, 0)}
    assert await best(memory, ada, "hemp") == "Weave it in hemp."
    before = rows("SELECT count(*) FROM messages")
    (folder / "strings.json").unlink()
    saved(folder / "copy.json", whole)
    os.utime(folder / "renamed.zip", (1, 1))
    assert await watched.turn() == {}
    # Another process knows what was imported, and one that knows nothing changes nothing.
    assert await Watched(memory, ada, folder).turn() == {
        "*.jpg": "1 file left, of a kind that is not read",
        "*.md": "1 file left, of a kind that is not read",
    }
    anew = Watched(memory, ada, folder)
    anew.watch._state = WatchState.of(tmp_path / "empty", ["x"])
    assert {counts for counts in (await anew.turn()).values() if isinstance(counts, tuple)} == {
        (0, 0)
    }
    assert rows("SELECT count(*) FROM messages") == before


async def test_a_folder_of_notes_is_read_whole(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """A note that changes adds what is new; one that is deleted stays in memory."""
    folder = tmp_path / "Notes"
    for name, content in exports_of_people.NOTES.items():
        saved(folder / name, content)
    watched = Watched(memory, ada, folder, format_=Format.NOTES)
    assert await watched.turn() == {".": (0, 9)}
    saved(folder / "Garden" / "Sloe.md", "Sloes for gin. See [[Medlar]].")
    (folder / "cat.png").write_text("x")
    assert await watched.turn() == {".": (0, 2)}
    [links] = rows(
        "SELECT s.content, t.content FROM associations AS a"
        " JOIN memories AS s ON s.id = a.memory_id JOIN memories AS t ON t.id = a.target_id"
        " WHERE a.relation = 'related_to' AND s.content LIKE 'Note Sloe%'"
    )
    assert links[1].startswith("Note Medlar")
    (folder / "Garden" / "Sloe.md").unlink()
    assert await watched.turn() == {".": (0, 0)}
    assert await best(memory, ada, "gin") == "Sloes for gin. See Medlar."


async def test_a_file_that_is_being_written_waits(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """At the start, what changed long ago does not; later all that appears does."""
    folder = tmp_path / "in"
    old = saved(folder / "old.jsonl", '{"content": "I mend clocks."}')
    saved(folder / "new.jsonl", '{"content": "I mend bells."}')
    os.utime(old, (1, 1))
    watched = Watched(memory, ada, folder, still=3600.0)
    assert await watched.turn() == {"old.jsonl": (1, 0)}
    moved = saved(folder / "moved.jsonl", '{"content": "I mend sails."}')
    os.utime(moved, (1, 1))
    assert await watched.turn() == {}
    wait = await watched.watch.turn()
    assert wait is not None
    assert 0 < wait <= 3600


async def test_from_now_leaves_what_is_there(
    memory: Remembrancer, ada: User, tmp_path: Path
) -> None:
    """Until it changes; what cannot be read as a user's own stops nothing else."""
    folder = tmp_path / "in"
    file = saved(folder / "a.jsonl", '{"content": "I mend clocks."}')
    watched = Watched(memory, ada, folder)
    await watched.watch.skip_present()
    assert await watched.turn() == {}
    saved(file, '{"content": "I mend clocks."}\n{"content": "And bells."}')
    saved(folder / "chat.txt", exports.ANDROID)
    reports = await watched.turn()
    assert reports.pop("a.jsonl") == (2, 0)
    assert "has times without a zone" in reports["chat.txt"]


async def test_a_watch_hears_of_changes_and_ends_after_a_batch(
    memory: Remembrancer, ada: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears is imported; a stop in the middle of one leaves whole batches."""
    folder = tmp_path / "in"
    folder.mkdir()
    watched = Watched(memory, ada, folder, still=0.05)
    running = asyncio.create_task(watched.watch.run())
    while not watched.reports:
        await asyncio.to_thread(saved, folder / "a.jsonl", '{"content": "I mend clocks."}')
        await asyncio.wait_for(watched.heard.wait(), 120)
    assert [(one.name, one.reason) for one in watched.reports] == [("a.jsonl", None)]
    monkeypatch.setattr(importer, "BATCH", 2)
    append, began = memory.conversations.append, asyncio.Event()

    async def slow(*arguments: Any, **options: Any) -> Any:
        began.set()
        return await append(*arguments, **options)

    monkeypatch.setattr(memory.conversations, "append", slow)
    content = "\n".join(json.dumps({"content": f"Clock {number}"}) for number in range(6))
    saved(folder / "b.jsonl", content)
    await asyncio.wait_for(began.wait(), 120)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert rows("SELECT count(*) FROM messages") == [(3,)]  # one, and a batch of two
    assert len(watched.reports) == 1
    monkeypatch.setattr(memory.conversations, "append", append)
    assert await Watched(memory, ada, folder).turn() == {"b.jsonl": (4, 0)}

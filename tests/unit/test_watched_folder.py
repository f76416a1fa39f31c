"""What a watched folder has to import, and what is known of it after a crash."""

import os
from pathlib import Path

import exports
import exports_of_people
import pytest
from exports import saved

from remembrancer import InvalidInput
from remembrancer.importers import Format
from remembrancer.importers.watch_state import WatchState
from remembrancer.importers.watched_folder import WatchedFolder


def names(folder: Path, format_: Format = Format.AUTO) -> list[str]:
    return [entry.name for entry in WatchedFolder(folder, format_).look().entries]


def test_a_folder_is_one_export_where_its_files_belong_together(tmp_path: Path) -> None:
    """Sessions and archives stand for themselves; links, hidden files and pictures do not."""
    folder, outside = tmp_path / "watched", tmp_path / "outside"
    saved(outside / "secret.json", "[]")
    for name in ("a.zip", "cat.jpg", ".hidden.json", ".git/x.json", "Note.md", "mbox"):
        saved(folder / name, "")
    trees = {
        "team": exports.slack(),
        "meta": exports_of_people.messenger(),
        "vault": exports_of_people.NOTES,
        "chatgpt": exports.chatgpt_parts(),
        "projects": exports.claude_code(),
        "chat": {"_chat.txt": exports.IOS, "cat.jpg": ""},
        "signal": {"Zoe/data.json": exports_of_people.SIGNAL, "Zoe/chat.md": ""},
        "more/exports": {"Zoe/data.json": exports_of_people.SIGNAL, "Zoe/chat.md": ""},
    }
    for tree, files in trees.items():
        for name, content in files.items():
            saved(folder / tree / name, content)
    (folder / "link.json").symlink_to(outside / "secret.json")
    (folder / "linked").symlink_to(outside)
    sessions = sorted(f"projects/{n}" for n in exports.claude_code() if n.endswith(".jsonl"))
    assert sorted(names(folder)) == sorted([
        "Note.md", "a.zip", "chat", "chatgpt/export", "mbox", "meta", "more", "signal",
        "team", "vault", *sessions,
    ])  # fmt: skip
    assert names(folder, Format.NOTES) == ["."]
    assert "a.zip" in names(folder, Format.CLAUDE_CODE)
    assert "Note.md" not in names(folder, Format.CLAUDE_CODE)
    assert WatchedFolder(folder, Format.AUTO).look().left == {".jpg": 1, ".md": 1}
    assert names(folder / "signal") == ["Zoe"]


def test_a_stamp_changes_with_the_content(tmp_path: Path) -> None:
    """Of a folder with any file in it; what is gone is gone."""
    folder = WatchedFolder(tmp_path, Format.AUTO)
    for name, content in exports.slack().items():
        saved(tmp_path / "team" / name, content)
    saved(tmp_path / "a.json", "[]")
    seen = []
    for size in ("", "[1]", "[12]"):
        for name in ("a.json", "team/more.json"):
            saved(tmp_path / name, size)
        seen.append({entry.name: entry.stamp for entry in folder.look().entries})
    assert len({one["a.json"] for one in seen}) == len({one["team"] for one in seen}) == 3
    (tmp_path / "a.json").unlink()
    assert [entry.name for entry in folder.look().entries] == ["team"]
    with pytest.raises(InvalidInput, match="is no folder"):
        WatchedFolder(tmp_path / "none", Format.AUTO).look()


def test_the_state_of_a_watch_outlives_a_crash(tmp_path: Path) -> None:
    """A line that was cut off is none; a name with any bytes is one; lines are few again."""
    odd = os.fsdecode(b"caf\xe9\n.json")
    parts = ["folder", "user"]
    state = WatchState.of(tmp_path, parts)
    for number in range(1500):
        state.note(odd, f"1-{number}", "ab")
    state.note("b.json", "2-1")
    [file] = (tmp_path / "watches").iterdir()
    with file.open("a") as lines:
        lines.write('["c.json", "3')
    again = WatchState.of(tmp_path, parts)
    assert again.has(odd, "1-1499")
    assert not again.has(odd, "1-1")
    assert again.has("b.json", "2-1")
    assert again.has_content("ab")
    assert not again.has("c.json", "3")
    assert len(file.read_text().splitlines()) == 2
    again.note("c.json", "3")
    assert WatchState.of(tmp_path, parts).has("c.json", "3")
    assert not WatchState.of(tmp_path, ["folder", "other"]).has("b.json", "2-1")
    assert not WatchState.of(tmp_path, parts, again=True).has("b.json", "2-1")

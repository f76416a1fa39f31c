"""An export as a zip archive of notes in Markdown, such as Obsidian reads. Pure.

A note begins with its record in YAML, without fields that are empty. The note of a memory has its
content after that, exactly. In that of a conversation, each message is a comment with its fields,
a line for readers, and its content, each line after ``> ``: no text in it can be another message.
"""

import io
import json
import zipfile
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime, tzinfo
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from remembrancer.extras import extra
from remembrancer.portability.schemas import SHOWN, Record
from remembrancer.sanitizer import visible_line

PROFILE: Final = "Profile.md"
CONVERSATIONS: Final = "Conversations"
_MOST: Final = 500
"""Messages of a note."""
_LONGEST: Final = 200_000
"""Characters of the messages of a note, before another one begins."""
_TITLE: Final = 50
_UNSAFE: Final = frozenset('\\/:*?"<>|#^[]%{}')
"""Characters that a file name or a link may not have somewhere."""
_YEARS: Final = range(1980, 2108)
"""Of the times in a zip archive."""
_KINDS: Final = ("user", "conversation", "memory")
LONGEST_PROPERTIES: Final = 4_000_000


async def write(records: AsyncIterator[Record]) -> AsyncIterator[bytes]:
    """Yield the archive, about a note at a time."""
    parts = _Parts()
    with zipfile.ZipFile(parts, "w", zipfile.ZIP_DEFLATED) as archive:
        writer = _Writer(archive)
        async for record in records:
            writer.add(record)
            if parts.size:
                yield parts.take()
        writer.end()
    yield parts.take()


class _Parts(io.RawIOBase):
    """A file that keeps what is written until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._content = bytearray()

    @property
    def size(self) -> int:
        return len(self._content)

    def write(self, content: Any) -> int:  # what a raw file takes
        self._content += content
        return len(content)

    def take(self) -> bytes:
        content = bytes(self._content)
        self._content.clear()
        return content


class _Writer:
    """Puts records into notes. Messages wait until their note is full."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._zone: tzinfo = ZoneInfo("UTC")
        self._spaces: dict[str, str] = {}
        self._talk: Record | None = None
        self._part = 0
        self._messages: list[Record] = []
        self._size = 0

    def add(self, record: Record) -> None:
        kind = record["type"]
        if kind == "message":
            self._messages.append(record)
            self._size += len(record["content"])
            if len(self._messages) >= _MOST or self._size >= _LONGEST:
                self._end_part()
            return
        self.end()
        if kind == "user":
            self._zone = ZoneInfo(record["time_zone"])
            self._spaces = {space["id"]: space["name"] for space in record["spaces"]}
            self._put(PROFILE, record, _profile(record), record["created_at"])
        elif kind == "conversation":
            self._talk = record
        elif kind == "memory":
            content = record.pop("content")
            name = f"{_title(content)} ({record['id']}).md"
            self._put(f"{self._folder(record)}/{name}", _of_memory(record), content, None)

    def end(self) -> None:
        """Put the rest of a conversation."""
        if self._messages or (self._talk is not None and self._part == 0):
            self._end_part()
        self._talk, self._part = None, 0

    def _end_part(self) -> None:
        talk = self._talk
        if talk is None:
            return
        self._part += 1
        day = _local(talk["created_at"], self._zone)[:10]
        name = f"{day} {_title(talk['title'] or talk['platform'] or 'Conversation')}"
        part = f" part {self._part:04}" if self._part > 1 else ""
        path = f"{CONVERSATIONS}/{name} ({talk['id'].replace('-', '')[-12:]}){part}.md"
        head = {name: talk[name] for name in ("type", "id", "title")} | {"part": self._part}
        fields = talk if self._part == 1 else head
        lines = [f"# {_title(talk['title'] or 'Conversation')}\n"]
        lines += [_summary(summary) for summary in fields.get("summaries", ())]
        lines += [_message(message, self._zone) for message in self._messages]
        self._put(path, fields, "\n".join(lines), None)
        self._messages, self._size = [], 0

    def _folder(self, memory: Record) -> str:
        if memory["space_id"] is not None:
            return f"Spaces/{_title(self._spaces.get(memory['space_id'], 'Former spaces'))}"
        if memory["place_id"] is not None:
            return "Places"
        return f"Memories/{memory['category'].title()}"

    def _put(self, path: str, record: Record, body: str, at: str | None) -> None:
        moment = datetime.fromisoformat(at or record.get("created_at") or "2000-01-01")
        entry = zipfile.ZipInfo(path)
        if moment.year in _YEARS:
            entry.date_time = moment.timetuple()[:6]
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(entry, f"---\n{_yaml(_filled(record))}---\n{body}\n".encode())


def _of_memory(memory: Record) -> Record:
    """Return a memory without its content, with links and tags for readers."""
    *earlier, last = memory["versions"]
    current = {name: value for name, value in last.items() if name != "content"}
    links = [
        f"[[{_title(edge['target_content'])} ({edge['target_id']})]]"
        for edge in memory["associations"]
        if edge["target_content"] is not None
    ]
    tags = [memory["category"], memory["kind"]]
    return {
        **{name: memory[name] for name in ("type", "id", "kind", "category", "subject")},
        "tags": list(dict.fromkeys(tags)),
        "related": list(dict.fromkeys(links)),
        **memory,
        "versions": [_filled(version) for version in (*earlier, current)],
        "mentions": [_filled(mention) for mention in memory["mentions"]],
        "associations": [_filled(edge) for edge in memory["associations"]],
    }


def _profile(user: Record) -> str:
    lines = [f"# {_title(user['display_name'])}", "", f"Times are those of {user['time_zone']}."]
    for headline, names in (
        (
            "Platforms",
            [f"{p['platform']}: {p['platform_user_id']}" for p in user["platform_links"]],
        ),
        ("Spaces", [one["name"] for one in user["spaces"]]),
        ("Agents", [one["name"] for one in user["agents"]]),
    ):
        if names:
            lines += ["", f"## {headline}", "", *(f"- {_title(name)}" for name in names)]
    return "\n".join(lines)


def _message(message: Record, zone: tzinfo) -> str:
    fields = {n: v for n, v in _filled(message).items() if n not in {"type", "content"}}
    # Two hyphens would end the comment; they are in a string, where an escape says the same.
    comment = json.dumps(fields, ensure_ascii=False).replace("--", "-\\u002d")
    name = _title(message["sender_name"] or message["role"])
    head = f"<!-- {comment} -->\n**{name}**, {_local(message['sent_at'], zone)}\n"
    return head + _quoted(message["content"])


def _summary(summary: Record) -> str:
    head = f"[!summary] Messages {summary['range_start']} to {summary['range_end']}"
    return _quoted(f"{head}\n{summary['content']}")


def _quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.split("\n"))


def _local(at: str, zone: tzinfo) -> str:
    return f"{datetime.fromisoformat(at).astimezone(zone):%Y-%m-%d %H:%M}"


def _title(text: str) -> str:
    """Return the start of a text as any file system and any link can have it."""
    line = visible_line(text[:SHOWN])
    plain = "".join(" " if c in _UNSAFE or not c.isprintable() else c for c in line)
    words = " ".join(plain.split())
    short = words if len(words) <= _TITLE else words[:_TITLE].rpartition(" ")[0] or words[:_TITLE]
    return short.strip(". ") or "Untitled"


def _filled(record: Record) -> Record:
    return {name: value for name, value in record.items() if value not in (None, [], {})}


# YAML ------------------------------------------------------------------------------------


@cache
def _dumper() -> Any:
    with extra("cli"):
        import yaml  # noqa: PLC0415

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, _data: object) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        # Within quotes an escape stands for what ends a line.
        style = None if value.isprintable() else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper


def _yaml(record: Record) -> str:
    dumper = _dumper()
    import yaml  # noqa: PLC0415

    return str(yaml.dump(record, Dumper=dumper, allow_unicode=True, sort_keys=False, width=1 << 30))


def _loaded(text: str) -> object:
    """Return the value of a YAML text; raise ``ValueError`` for what YAML of ours has not."""
    with extra("cli"):
        import yaml  # noqa: PLC0415
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if len(text) > LONGEST_PROPERTIES:
        raise ValueError
    try:
        # Aliases may grow without a bound, and so may merged keys.
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise ValueError
        return _plain(yaml.load(text, Loader=loader))  # noqa: S506 - a safe one
    except (yaml.YAMLError, TypeError, RecursionError):
        raise ValueError from None


def _plain(value: object) -> object:
    """Return a value of YAML as one of JSON: an editor may have taken the quotes of a time."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


# Reading ---------------------------------------------------------------------------------


def order(names: Sequence[str]) -> list[str]:
    """Return the paths of notes: the profile, conversations, and what may cite these."""

    def rank(name: str) -> tuple[int, str]:
        parts = name.split("/")
        # Without the ending, the first note of a conversation is before its other ones.
        order = 0 if parts[-1] == PROFILE else 1 if CONVERSATIONS in parts[:-1] else 2
        return (order, name.removesuffix(".md"))

    return sorted((name for name in names if name.endswith(".md")), key=rank)


def records(text: str) -> Iterator[object]:
    """Yield the records of a note; raise ``ValueError`` for properties that are no YAML.

    Nothing for a note without properties, or with those of others.
    """
    head, separator, body = text.partition("\n---\n")
    if not separator or not head.startswith("---\n"):
        return
    fields = _loaded(head.removeprefix("---\n"))
    kind = fields.get("type") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or kind not in _KINDS:
        return
    if kind == "memory":
        content = body.removesuffix("\n")
        versions = fields.get("versions")
        if isinstance(versions, list) and versions and isinstance(versions[-1], dict):
            versions[-1]["content"] = content
        yield {**fields, "content": content}
    elif kind == "user" or fields.get("part", 1) == 1:
        yield fields
    if kind == "conversation":
        yield from _messages(body, fields.get("id"))


def _messages(body: str, conversation_id: object) -> Iterator[object]:
    fields: dict[str, object] | None = None
    lines: list[str] = []
    for line in (*body.split("\n"), "<!-- {} -->"):
        if line.startswith("<!-- {") and line.endswith(" -->"):
            if fields is not None:
                content = "\n".join(lines)
                same = {"type": "message", "conversation_id": conversation_id, "content": content}
                yield {**fields, **same}
            comment = json.loads(line[5:-4])
            fields, lines = comment if isinstance(comment, dict) else {}, []
        elif line.startswith(">"):
            lines.append(line[1:].removeprefix(" "))


def looks_like(profile: str) -> bool:
    """Return whether a text is the profile of such an export."""
    return is_part(profile) and "\nremembrancer: " in profile.partition("\n---\n")[0]


def is_part(text: str) -> bool:
    """Return whether a text is a note of such an export."""
    head = text.partition("\n---\n")[0]
    return any(f"\ntype: {kind}" in head for kind in _KINDS)

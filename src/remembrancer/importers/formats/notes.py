"""Notes: a folder of Markdown files, such as a vault of Obsidian, or one file.

A file is a note, with its name as the title. It may begin with properties in YAML between lines of
``---``: tags, aliases and a date are read. A link is ``[[Title]]``, with a path, a headline or
other words beside it, or ``[words](file.md)``; ``![[Title]]`` embeds a note. A tag is ``#word``.

A note becomes a memory with its title and tags. Each paragraph becomes a memory that is part of it,
and each link an association of the two notes. Blocks of code are paragraphs like others.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from remembrancer.extras import extra
from remembrancer.importers.bundle import Bundle, Member, note_unread
from remembrancer.importers.captions import clean, label
from remembrancer.importers.exported_memories import ExportedMemory, key_of
from remembrancer.importers.formats.statements import statements
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, in_years
from remembrancer.memories.schemas import Kind, Relation

PLATFORM: Final = "notes"
ENDINGS: Final = frozenset({".md", ".markdown"})
_MOST_LINKS: Final = 50
"""Associations that one memory may be stored with."""
_MOST_NAMES: Final = 20
"""Tags or aliases of a note that are read."""
_LONGEST: Final = 1000
"""Characters of the memory with the title and tags."""
_LONGEST_PROPERTIES: Final = 20_000
_MOST_LISTS: Final = 500
"""Lists and tables in the properties of a note that are read."""
_TASK: Final = "[ ] "
_CODE: Final = re.compile(r"^(```|~~~)", re.MULTILINE)
_WIKI: Final = re.compile(
    r"!?\[\[([^\[\]\n|#^]{0,300})([#^][^\[\]\n|]{0,300})?(\|[^\[\]\n]{0,300})?\]\]"
)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(<?([^()<>\n]{1,500})>?\)")
_TAG: Final = re.compile(r"(?<![\w#/&])#([^\W\d][\w/-]{0,60})")
_COMMENT: Final = re.compile(r"%%[^%]{0,10000}%%")
_DATES: Final = ("created", "date", "date created", "created_at")


@dataclass(frozen=True, slots=True)
class _Note:
    key: str
    path: PurePosixPath
    text: str
    aliases: list[str]
    tags: list[str]
    links: list[str]
    at: datetime | None


def members(bundle: Bundle) -> list[Member]:
    """Return the notes, or the only file whatever it is called."""
    found = [Member(bundle, name) for name in bundle.names()]
    return [m for m in found if len(found) == 1 or m.path.suffix.casefold() in ENDINGS]


def is_vault(bundle: Bundle) -> bool:
    """Return whether there are more notes than JSON files, which are an export's."""
    endings = [PurePosixPath(name).suffix.casefold() for name in bundle.names()]
    return sum(ending in ENDINGS for ending in endings) > endings.count(".json")


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[ExportedMemory]:
    files = members(bundle)
    note_unread(bundle, files, notes)
    found = [_note(member, options, notes) for member in files]
    links = _associations(found, notes)
    for note in found:
        title = label(note.path.stem) or "Untitled"
        yield ExportedMemory(
            key=note.key,
            content=_described(title, note),
            platform=PLATFORM,
            subject=title,
            kind=Kind.OBSERVATION,
            at=note.at,
            associations=[(key, Relation.RELATED_TO) for key in links[note.key]],
        )
        yield from _paragraphs(title, note)


def _described(title: str, note: _Note) -> str:
    folder = label(note.path.parent.as_posix())
    parts = [
        f"also called {', '.join(note.aliases)}" if note.aliases else "",
        f"in the folder {folder}" if folder not in {"", "."} else "",
        f"with the tags {', '.join(note.tags)}" if note.tags else "",
    ]
    return ", ".join([f"Note {title}", *filter(None, parts)])[:_LONGEST]


def _paragraphs(title: str, note: _Note) -> Iterator[ExportedMemory]:
    seen: set[str] = set()
    for statement in statements(PLATFORM, None, note.text, at=note.at):
        is_task = statement.content.startswith(_TASK)
        text = statement.content.removeprefix(_TASK)
        content = text if title.casefold() in text.casefold() else f"{title}: {text}"
        if content not in seen:
            seen.add(content)
            yield replace(
                statement,
                key=key_of(PLATFORM, note.path.as_posix(), content),
                content=content,
                kind=Kind.TODO if is_task else statement.kind,
                subject=title,
                associations=[(note.key, Relation.PART_OF)],
            )


def _note(member: Member, options: Options, notes: Notes) -> _Note:
    properties, text = _parted(member.text().replace("\r\n", "\n"), notes)
    text = _COMMENT.sub("", clean(text))
    prose = "\n".join(_CODE.split(text)[::4])  # outside of blocks of code
    tags = [*_names(properties.get("tags")), *_names(properties.get("tag")), *_TAG.findall(prose)]
    links = [match[1] for match in _WIKI.finditer(text)]
    links += [unquote(match[2]) for match in _LINK.finditer(text) if "://" not in match[2]]
    return _Note(
        key=key_of(PLATFORM, "note", member.name),
        path=member.path,
        text=_plain(text),
        aliases=_names(properties.get("aliases")),
        tags=list(dict.fromkeys(filter(None, (tag.lstrip("#") for tag in tags))))[:_MOST_NAMES],
        links=[link for link in map(str.strip, links) if link],
        at=next(filter(None, (_time(properties.get(name), options) for name in _DATES)), None),
    )


def _parted(text: str, notes: Notes) -> tuple[Mapping[object, object], str]:
    """Return the properties of a note and the text after them."""
    head, separator, rest = text.partition("\n---")
    line, _, body = rest.partition("\n")
    if not separator or line.strip() or not text.startswith("---\n"):
        return {}, text
    with extra("cli"):
        import yaml  # noqa: PLC0415
    properties: object = None
    # All values as texts: no merged keys, which may grow without a bound.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    lists = head.count("[") + head.count("{")
    try:
        # The loader without C takes quadratic time for lists in lists.
        if len(head) <= _LONGEST_PROPERTIES and lists <= _MOST_LISTS:
            properties = yaml.load(head.removeprefix("---"), Loader=loader)  # noqa: S506
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        properties = None
    if isinstance(properties, Mapping):
        return properties, body
    if head != "---":
        notes.skip("properties that are no YAML")
    return {}, body


def _names(value: object) -> list[str]:
    """Return names that YAML has as a list, or as one text with commas."""
    values = value if isinstance(value, list) else str(value).split(",") if value else []
    names = (label(item) for item in values[:_MOST_NAMES] if isinstance(item, str))
    return [name for name in names if name]


def _time(value: object, options: Options) -> datetime | None:
    try:
        at = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        return None
    if at is None or not in_years(at):
        return None
    return at if at.tzinfo else at.replace(tzinfo=options.time_zone or UTC)


def _plain(text: str) -> str:
    """Return a text with the words of its links in their place."""

    def words(match: re.Match[str]) -> str:
        return (match[3] or "|")[1:] or match[1] or (match[2] or "")[1:]

    return _LINK.sub(lambda match: match[1] or match[2], _WIKI.sub(words, text))


def _associations(found: list[_Note], notes: Notes) -> dict[str, list[str]]:
    """Return the notes that each note is associated with: of two, the later one has the other.

    An association is to a memory that exists, whichever of the two has the link.
    """
    order = {note.key: number for number, note in enumerate(found)}
    targets: dict[str, dict[str, None]] = {note.key: {} for note in found}
    by_name = _by_name(found)
    for note in found:
        for link in note.links:
            target = _target(note, link, by_name)
            if target is None:
                notes.skip("link to what is no note")
            elif target != note.key:
                first, last = sorted((note.key, target), key=order.__getitem__)
                targets[last][first] = None
    for keys in targets.values():
        for _ in list(keys)[_MOST_LINKS:]:
            notes.skip(f"link of a note with over {_MOST_LINKS}")
    return {key: list(keys)[:_MOST_LINKS] for key, keys in targets.items()}


def _by_name(found: list[_Note]) -> dict[str, str]:
    """Return the notes by their names: paths before titles, titles before aliases."""
    names: dict[str, str] = {}
    for note in found:
        names.setdefault(note.path.with_suffix("").as_posix().casefold(), note.key)
    for note in sorted(found, key=lambda note: len(note.path.parts)):
        names.setdefault(note.path.stem.casefold(), note.key)
    for note in found:
        for alias in note.aliases:
            names.setdefault(alias.casefold(), note.key)
    return names


def _target(note: _Note, link: str, by_name: Mapping[str, str]) -> str | None:
    """Return the note that a link leads to: beside its note, from the top, or by title."""
    name = PurePosixPath(link.partition("#")[0])
    if name.suffix.casefold() in ENDINGS:
        name = name.with_suffix("")
    near = [*note.path.parent.parts]
    for part in name.parts:
        if part == "..":
            near = near[:-1]
        else:
            near.append(part)
    for way in ("/".join(near), name.as_posix(), name.name):
        if (key := by_name.get(way.casefold())) is not None:
            return key
    return None

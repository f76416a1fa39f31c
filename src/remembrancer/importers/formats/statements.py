"""Memories that another system has as one text, and its projects. Pure."""

from collections.abc import Iterator
from datetime import datetime

from pydantic import AwareDatetime, Field

from remembrancer.importers.bundle import Bundle, Member, within
from remembrancer.importers.captions import clean, label
from remembrancer.importers.exported_memories import ExportedMemory, key_of
from remembrancer.importers.parse import Notes, Record, in_years, record
from remembrancer.importers.turns import split
from remembrancer.memories.schemas import Category, Kind
from remembrancer.text import Key, is_blank

_LONGEST = 1000
"""Characters of a statement; a longer paragraph becomes several."""


class _Project(Record):
    uuid: Key | None = None
    id: Key | None = None
    name: str | None = None
    description: str | None = None
    prompt_template: str | None = None
    instructions: str | None = None
    docs: list[object] = Field(default_factory=list)
    is_starter_project: bool | None = None
    created_at: AwareDatetime | None = None


def statements(
    platform: str,
    about: str | None,
    text: str | None,
    *,
    said_of: str = "",
    subject: str | None = None,
    kind: Kind = Kind.FACT,
    category: Category = Category.OTHER,
    at: datetime | None = None,
) -> Iterator[ExportedMemory]:
    """Yield a memory for each paragraph of a text, under an id made of its words.

    ``said_of`` comes before each. A headline in the text is the subject of what follows it.
    """
    for headline, paragraph in _paragraphs(clean(text or "")):
        for part in split(paragraph, _LONGEST):
            if not is_blank(part):
                content = f"{said_of}: {part}" if said_of else part
                yield ExportedMemory(
                    key=key_of(platform, "statement", about or "", content),
                    content=content,
                    platform=platform,
                    about=about,
                    kind=kind,
                    category=category,
                    subject=headline or subject,
                    at=at if at and in_years(at) else None,
                )


def _paragraphs(text: str) -> Iterator[tuple[str, str]]:
    headline = ""
    for block in text.split("\n\n"):
        lines = block.strip().split("\n")
        if _is_headline(lines[0]):
            headline = label(lines.pop(0).strip("#*: "))
        points = [line.strip() for line in lines if line.strip()]
        if all(point.startswith(("- ", "* ")) for point in points):
            yield from ((headline, point[2:]) for point in points)
        else:
            yield headline, "\n".join(points)


def _is_headline(line: str) -> bool:
    return line.startswith("#") or (line.startswith("**") and line.rstrip(": ").endswith("**"))


def projects(bundle: Bundle) -> list[Member]:
    return within(bundle, "projects")


def project_statements(
    platform: str, about: str | None, bundle: Bundle, notes: Notes
) -> Iterator[ExportedMemory]:
    """Yield the description and the instructions of each project; its documents are left."""
    for where, value in (pair for member in projects(bundle) for pair in member.elements()):
        project = record(_Project, value, where, notes)
        if project.is_starter_project:
            notes.skip("example project")
            continue
        name = label(project.name) or "without a name"
        for said_of, text, kind in (
            (f"Project {name}", project.description, Kind.FACT),
            (f"Instructions for project {name}", project.prompt_template, Kind.PREFERENCE),
            (f"Instructions for project {name}", project.instructions, Kind.PREFERENCE),
        ):
            yield from statements(
                platform, about, text, said_of=said_of, subject=name, kind=kind,
                category=Category.PROJECT, at=project.created_at,
            )  # fmt: skip
        for _ in project.docs:
            notes.skip("document of a project")


def project_names(bundle: Bundle) -> dict[str, str]:
    """Return the names of the projects by their ids."""
    values = [value for member in projects(bundle) for _, value in member.elements()]
    records = [record(_Project, value, "projects") for value in values if isinstance(value, dict)]
    return {key: label(item.name) for item in records if (key := item.uuid or item.id)}

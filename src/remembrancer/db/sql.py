"""SQL kept in files: named statements that psql can run as they stand.

A file ``sql/<file>.sql`` of a package holds one or more statements. Each starts at a line
``-- name: <name>`` and ends with a semicolon. Values are ``:name``, as in psql.

A part that Python decides stands between ``/*[name argument*/`` and ``/*]*/``. What the file has
there is what psql runs; Python replaces it. ``/*[visible m*/ true /*]*/`` becomes the access rule
on the table called ``m``; a statement cannot be read without it. ``/*[alone*/ ... /*]*/`` is
only there for psql: a stand-in for what surrounds a part.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from pydantic_core import to_json
from sqlalchemy import ARRAY, ColumnElement, Dialect, TextClause, any_, cast, text
from sqlalchemy.dialects import postgresql

from remembrancer.access import told_in, visible

Part = str | Callable[[str], str] | None
"""The text of a part, or what makes it from the part's argument. None leaves the file's text."""

_NAME: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PART: Final = re.compile(r"/\*\[(\w+) ?([^*]*?)\*/(.*?)/\*\]\*/", re.DOTALL)
_ALWAYS: Final[Mapping[str, Part]] = {"visible": visible, "told": told_in, "alone": ""}
_MOST_NAMES: Final = 1000
_NUMBERED: Final[Dialect] = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class NumberedSql:
    """SQL with ``$1`` placeholders, made once because it takes a noticeable part of a call."""

    text: str
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """What logs and traces call it."""
        return name_of(self.text)


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with its values, settings (from here on, in its round trip) and row type."""

    sql: NumberedSql
    binds: Mapping[str, Any]
    settings: Mapping[str, str] = field(default_factory=dict)
    row_type: type[Any] | None = None


@cache
def numbered(sql: str) -> NumberedSql:
    compiled = text(sql).compile(dialect=_NUMBERED)
    return NumberedSql(str(compiled), tuple(compiled.positiontup or ()))


@cache
def statement(package: str, file: str, name: str, **parts: Part) -> TextClause:
    """Return a statement to execute. Raises ``KeyError`` for an unknown name or part.

    It is kept for the next call with the same parts, so a function among them needs a name.
    """
    return text(statement_text(package, file, name, **parts))


def statement_text(package: str, file: str, name: str, **parts: Part) -> str:
    """Return the text of a statement. Raises ``KeyError`` for an unknown name or part."""
    known = {**_ALWAYS, **parts}

    def fill(match: re.Match[str]) -> str:
        part = known[match[1]]
        if part is None:
            return match[3]
        return part if isinstance(part, str) else part(match[2].strip())

    # The name is for whoever sees the statement in Postgres, a log or a trace.
    label = f"/* {package.removeprefix('remembrancer.')}.{file}.{name} */ "
    return label + _PART.sub(fill, _statements(package, file)[name])


@lru_cache(_MOST_NAMES)
def name_of(sql: str) -> str:
    """Return the name of a statement; of one without a name, its first words."""
    if sql.startswith("/* "):
        return sql[3:].partition(" */")[0]
    return " ".join(sql[:400].split())[:80]


def among(column: ColumnElement[Any], values: Iterable[object]) -> ColumnElement[bool]:
    """Return the condition that a column has one of the values.

    The text of the statement is the same for any number of them, so that it is prepared once.
    """
    return column == any_(cast(list(values), ARRAY(column.type)))


def json_rows(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as ``jsonb_populate_recordset`` reads them, without their nulls."""
    return to_json(
        [
            {
                name: rf"\x{value.hex()}" if isinstance(value, bytes) else value
                for name, value in row.items()
                if value is not None
            }
            for row in rows
        ]
    ).decode()


@cache
def _statements(package: str, file: str) -> Mapping[str, str]:
    source = (files(package) / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    _, *pairs = _NAME.split(source)
    return {
        name: _without_comments(body) for name, body in zip(pairs[::2], pairs[1::2], strict=True)
    }


def _without_comments(body: str) -> str:
    lines = (line for line in body.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")

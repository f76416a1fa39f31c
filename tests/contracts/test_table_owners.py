"""Each table is written by one package; others call that package."""

import re
from pathlib import Path

import pytest
from table_writes import Write, table_writes

from remembrancer.db.tables import metadata

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "remembrancer"
QUEUE = {"procrastinate_jobs", "job_outcomes"}
TABLES = {*metadata.tables, *QUEUE}

# `restore` replaces every table of the database at once, and a copy on another server begins empty.
ALLOWED = {"backup -> ?", "workspaces -> ?"}


def owners() -> dict[str, str]:
    """Return the owning package of each table, as docs/architecture.md lists them."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Who writes which table")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", section, re.MULTILINE)
    return {
        table: package.removesuffix(".py")
        for package, tables in rows
        for table in re.findall(r"`(\w+)`", tables)
    }


def test_every_table_has_an_owner_in_the_documentation() -> None:
    """The page on architecture names one owner for each table of the schema."""
    assert set(owners()) == TABLES


def test_each_table_is_written_by_its_owner_alone() -> None:
    """No package writes a table of another, in Python, in strings or in SQL files."""
    owner_of, writes = owners(), table_writes(SOURCE, TABLES)
    print("\n" + _summary(writes))
    foreign = [write for write in writes if owner_of.get(write.table) != write.package]
    pairs = {f"{write.package} -> {write.table}" for write in foreign} - ALLOWED
    lines = "\n".join(f"{write.where}: {write.package} writes {write.table}" for write in foreign)
    assert not pairs, lines
    unwritten = TABLES - {write.table for write in writes}
    assert not unwritten, f"no write found, so the search may be blind: {sorted(unwritten)}"


def _summary(writes: list[Write]) -> str:
    packages = {
        table: ", ".join(sorted({write.package for write in writes if write.table == table}))
        for table in sorted(TABLES)
    }
    return "\n".join(f"{table:20} written by {packages[table]}" for table in packages)


PROBES = {
    "function": "from sqlalchemy import insert\n"
    "from remembrancer.db.tables import memories\n"
    "STATEMENT = insert(memories).values(id=1)",
    "renamed function": "from sqlalchemy.dialects.postgresql import insert as upsert\n"
    "from remembrancer.db.tables import memories as m\n"
    "STATEMENT = upsert(m)",
    "module": "import sqlalchemy as sa\nfrom remembrancer.db import tables\n"
    "STATEMENT = sa.delete(tables.memories)",
    "alias": "from sqlalchemy import update\n"
    "from remembrancer.db.tables.memories import memories\n"
    "m = memories.alias('m')\nSTATEMENT = update(m)",
    "method": "from remembrancer.db.tables import memories\nSTATEMENT = memories.delete()",
    "loop": "from sqlalchemy import delete\n"
    "from remembrancer.db.tables import memories, users\n"
    "def statements():\n    for table in (memories, users):\n        yield delete(table)",
    "helper": "from sqlalchemy import delete\n"
    "from remembrancer.db.tables import memories\n"
    "def clear(table):\n    return delete(table)\n"
    "STATEMENT = clear(memories)",
    "helper of db": "from remembrancer.db.clear import clear\n"
    "from remembrancer.db.tables import memories\n"
    "def f():\n    return clear(memories)",
    "constant of another module": "from sqlalchemy import delete\n"
    "from remembrancer.users.owned import OWNED\n"
    "STATEMENTS = [delete(table) for table in OWNED]",
    "string": "STATEMENT = 'INSERT INTO memories (id) VALUES (1)'",
    "common table expression": "STATEMENT = 'WITH gone AS (DELETE FROM public.memories) SELECT 1'",
    "lower case": "STATEMENT = 'update memories set pinned = true'",
    "f-string": "TABLE = 'memories'\nSTATEMENT = f'UPDATE {TABLE} SET pinned = true'",
    "sum": "TABLE = 'memories'\nSTATEMENT = 'DELETE FROM ' + TABLE",
    "format": "TEXT = 'DELETE FROM {table}'\nSTATEMENT = TEXT.format(table='memories')",
    "copy": "STATEMENT = 'COPY memories (id, content) FROM STDIN'",
    "truncate": "STATEMENT = 'TRUNCATE memories'",
    "merge": "STATEMENT = 'MERGE INTO memories AS m USING s ON true'",
}


def _tree(root: Path, files: dict[str, str]) -> Path:
    source = root / "remembrancer"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return source


def _written(source: Path) -> set[tuple[str, str]]:
    return {(write.package, write.table) for write in table_writes(source, TABLES)}


@pytest.mark.parametrize("probe", PROBES)
def test_a_foreign_write_in_python_is_found(tmp_path: Path, probe: str) -> None:
    """Whichever way a write is put in Python, it is found and belongs to its package."""
    files = {
        "web/pages.py": PROBES[probe],
        "db/clear.py": "from sqlalchemy import delete\ndef clear(table):\n    return delete(table)",
        "users/owned.py": "from remembrancer.db.tables import memories\nOWNED = (memories,)",
    }
    assert ("web", "memories") in _written(_tree(tmp_path, files))


def test_a_foreign_write_in_an_sql_file_is_found(tmp_path: Path) -> None:
    """A statement in a file is found; what a comment says is not."""
    files = {
        "web/sql/pages.sql": "-- name: hide\n-- DELETE FROM users\n"
        "WITH m AS (UPDATE memories AS m SET pinned = true /* INSERT INTO agents */) SELECT 1;"
    }
    assert _written(_tree(tmp_path, files)) == {("web", "memories")}


def test_a_write_of_an_unknown_table_is_reported(tmp_path: Path) -> None:
    """A write whose table cannot be told from the source does not pass unseen."""
    files = {"web/pages.py": "STATEMENT = 'DELETE FROM {}'.format(input())"}
    assert _written(_tree(tmp_path, files)) == {("web", "?")}


def test_reads_and_locks_are_no_writes(tmp_path: Path) -> None:
    """Selecting, joining and locking rows of another package is allowed."""
    text = (
        "from sqlalchemy import select\nfrom remembrancer.db.tables import memories\n"
        "LOCK = 'SELECT 1 FROM memories FOR NO KEY UPDATE OF memories'\n"
        "READ = select(memories).with_for_update()\nHELP = 'update memories in place'\n"
        "known = {}\nknown.update(memories=1)\n"
    )
    assert not _written(_tree(tmp_path, {"web/pages.py": text}))

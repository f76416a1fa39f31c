"""What ``doctor`` looks at."""

import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from remembrancer.app import Remembrancer
from remembrancer.cli.admin_key import FILE
from remembrancer.cli.query_plan import Plan, recall_plan
from remembrancer.db.engine import APP_ROLE
from remembrancer.settings import Settings
from remembrancer.statistics import counts

_SERVER = text("""
    SELECT current_setting('server_version') AS server,
           current_setting('server_version_num')::int AS number,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
           current_user AS role
""")

# Tables of ours that the application may read without row-level security, forced.
_OPEN = text("""
    SELECT c.relname
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')
       AND c.relname NOT IN ('alembic_version', 'agents', 'memory_policy', 'embedding_model')
       AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
     ORDER BY c.relname
""")

_OWNED = text("""
    SELECT (SELECT count(*) FROM pg_class WHERE relowner = r.oid) AS owned,
           r.rolsuper OR r.rolbypassrls AS unbound
      FROM pg_roles AS r WHERE r.rolname = :role
""")

_MODEL = text("SELECT name, dimensions FROM embedding_model")
_SIZES = text("SELECT DISTINCT vector_dims(embedding) AS size FROM recall_items ORDER BY 1")

_LARGE = 20_000
"""Rows from which reading a whole table for one user would be wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    good: bool
    about: str
    found: str


def data_directory(settings: Settings) -> list[Finding]:
    """Say where the data lies and whether others can read it."""
    directory = settings.data_dir.expanduser().absolute()
    found = [_private("Data directory", directory)] if directory.exists() else []
    key = directory / FILE
    return [*found, _private("Admin key", key)] if key.exists() else found


def _private(about: str, path: Path) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    good = sys.platform == "win32" or not mode & 0o077
    advice = "" if good else f"; others can read it: chmod {mode & 0o700:o} it"
    return Finding(good, about, f"{path} (mode {mode:04o}{advice})")


async def examine(app: Remembrancer) -> list[Finding]:
    """Look at the open store."""
    model = await _model(app)
    return [
        *await _server(app),
        *await _row_security(app),
        model,
        _language_model(app.settings),
        _guard(app.settings),
        await _holdings(app),
        # a question in another model's numbers cannot be asked
        *(_plan(await recall_plan(app)) if model.good else []),
    ]


async def _rows(app: Remembrancer, statement: Any, **binds: Any) -> Sequence[Any]:
    async with app.database.system() as connection:
        return (await connection.execute(statement, binds)).all()


async def _server(app: Remembrancer) -> list[Finding]:
    [row] = await _rows(app, _SERVER)
    kind = "embedded" if app.settings.database_url is None else "your server"
    return [
        Finding(row.number >= 160000, "Postgres", f"{row.server} ({kind})"),
        Finding(row.vector is not None, "pgvector", row.vector or "is not installed"),
        Finding(row.role == APP_ROLE, "Connects as", row.role),
    ]


async def _row_security(app: Remembrancer) -> list[Finding]:
    unguarded = [row.relname for row in await _rows(app, _OPEN)]
    [role] = await _rows(app, _OWNED, role=APP_ROLE)
    owns = f"owns {role.owned} tables or indexes" if role.owned else "owns nothing"
    bound = "is not bound by row-level security" if role.unbound else "bound by it"
    return [
        Finding(
            not unguarded,
            "Row-level security",
            f"not forced on {', '.join(unguarded)}" if unguarded else "forced on all user tables",
        ),
        Finding(not role.owned and not role.unbound, "Application's role", f"{owns}, {bound}"),
    ]


async def _model(app: Remembrancer) -> Finding:
    mine = app.embedder
    rows = await _rows(app, _MODEL)
    sizes = [row.size for row in await _rows(app, _SIZES)]
    stored = rows[0] if rows else None
    if stored is not None and (stored.name, stored.dimensions) != (mine.name, mine.dimensions):
        return Finding(
            False,
            "Embedding model",
            f"{mine.name} is configured, the store holds {stored.name}: run `remembrancer reembed`",
        )
    if sizes not in ([], [mine.dimensions]):
        return Finding(False, "Embedding model", f"vectors of sizes {sizes} in the store")
    return Finding(True, "Embedding model", f"{mine.name}, {mine.dimensions} dimensions")


def _language_model(settings: Settings) -> Finding:
    if not settings.llm.model:
        told = "none: summaries are transcripts, and no facts are found (REMEMBRANCER_LLM__MODEL)"
    elif not settings.extraction.facts:
        told = f"{settings.llm.model} writes summaries; no facts are found"
    else:
        waits = ", which wait to be confirmed" if settings.extraction.review == "confirm" else ""
        told = f"{settings.llm.model} writes summaries and finds facts{waits}"
    return Finding(True, "Language model", told)


def _guard(settings: Settings) -> Finding:
    found = {
        action: [name.replace("_", " ") for name, set_to in settings.guard if set_to == action]
        for action in ("block", "redact", "allow")
    }
    told = "; ".join(f"{action}s {', '.join(names)}" for action, names in found.items() if names)
    return Finding(True, "Guard", told)


async def _holdings(app: Remembrancer) -> Finding:
    held = await counts(app.database)
    return Finding(
        True,
        "Holds",
        f"{held.users:,} users, {held.agents:,} agents, {held.memories:,} memories, "
        f"{held.messages:,} messages",
    )


def _plan(plan: Plan | None) -> list[Finding]:
    if plan is None:
        return [Finding(True, "Recall", "nothing to recall yet")]
    scanned = [name for name, rows in plan.whole_tables.items() if rows > _LARGE]
    used = ", ".join(plan.indexes) or "no index: the tables are small"
    return [
        Finding(
            True,
            "Recall",
            f"{plan.planning:.1f} ms planning, {plan.execution:.1f} ms running, "
            f"for the user with most to search ({plan.items:,} items)",
        ),
        Finding(
            not scanned,
            "Recall's plan",
            f"reads all of {', '.join(scanned)}: run ANALYZE" if scanned else f"uses {used}",
        ),
    ]

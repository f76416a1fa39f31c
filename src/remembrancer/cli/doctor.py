"""``doctor``: check the installation."""

import platform
import stat
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from remembrancer import version
from remembrancer.app import Remembrancer
from remembrancer.cli.admin_key import FILE
from remembrancer.cli.findings import Finding
from remembrancer.cli.host_check import host_findings
from remembrancer.cli.output import console, contents, plain, progress
from remembrancer.cli.query_plan import Plan, recall_plan
from remembrancer.cli.runtime import settings_of, with_store
from remembrancer.db.sql import statement
from remembrancer.db.urls import APP_ROLE
from remembrancer.errors import RemembrancerError
from remembrancer.integrity import check
from remembrancer.integrity.rules import MEMORY_HASHES, RULES, Problem
from remembrancer.llm.messages import UserText
from remembrancer.settings import Settings
from remembrancer.statistics import counts

_query = partial(statement, __package__, "doctor")
_LOGIN_ADVICE = f"let database_url log in as {APP_ROLE}, and database_owner_url as the owner"
_LARGE = 20_000
"""Rows of a table that a recall must not read completely."""


def doctor(
    context: typer.Context,
    every_row: Annotated[
        bool, typer.Option("--check", help="Look at every row of the store instead.")
    ] = False,
) -> None:
    """Check the installation and the models; with --check, every row of the store.

    It calls the models once and says where time goes; it asks each Postgres server with workspaces
    whether it can hold and move them. With --check it looks for what a fault of a
    disk or of a program leaves: gaps, rows without their owner, entries of search that differ from
    their text. It changes nothing. Exit code 1 means that there is a problem.

    Examples:
      remembrancer doctor
      remembrancer doctor --check
    """
    if every_row:
        _show(with_store(context, check_rows, check_model=False))
        return
    settings = settings_of(context)
    findings = [
        Finding(True, "Remembrancer", version.__version__),
        Finding(True, "Python", f"{platform.python_version()} on {sys.platform}"),
        Finding(True, "Settings file", str(settings.settings or "none")),
    ]
    # the store comes first: it creates the data directory
    store = with_store(context, check_store, check_model=False)
    _show([*findings, *check_data_directory(settings), *store])


def _show(findings: Sequence[Finding]) -> None:
    screen = console()
    for finding in findings:
        mark = ("✓ ", "green") if finding.good else ("✗ ", "bold red")
        subject = (f"{finding.subject:<22}", "bold")
        screen.print(Text.assemble(mark, subject, plain(finding.result)))
    problems = [finding for finding in findings if not finding.good]
    if problems:
        screen.print(Text(f"{len(problems)} of {len(findings)} checks found a problem.", "red"))
        raise typer.Exit(1)
    screen.print(Text("All checks passed.", style="green"))


async def check_rows(app: Remembrancer) -> list[Finding]:
    with progress() as bar:
        task = bar.add_task("Rows")
        found = await check(
            app.database, lambda done, total: bar.update(task, completed=done, total=total)
        )
    subjects = dict.fromkeys(rule.subject for rule in (*RULES, MEMORY_HASHES))
    broken = {problem.rule.subject for problem in found}
    good = [Finding(True, name, "in order") for name in subjects if name not in broken]
    return [*good, *(Finding(False, each.rule.subject, _told(each)) for each in found)]


def _told(problem: Problem) -> str:
    more = ", …" if problem.count > len(problem.ids) else ""
    ids = f"{', '.join(problem.ids)}{more}"
    return f"{problem.count:,} {problem.rule.broken} ({ids}); to repair: {problem.rule.repair}"


def check_data_directory(settings: Settings) -> list[Finding]:
    directory = settings.data_dir.expanduser().absolute()
    findings = [_private("Data directory", directory)] if directory.exists() else []
    key = directory / FILE
    return [*findings, _private("Admin key", key)] if key.exists() else findings


def _private(subject: str, path: Path) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    good = sys.platform == "win32" or not mode & 0o077
    advice = "" if good else f"; others can read it: run chmod {mode & 0o700:o} on it"
    return Finding(good, subject, f"{path} (mode {mode:04o}{advice})")


async def check_store(app: Remembrancer) -> list[Finding]:
    model = await _model(app)
    return [
        *await _server(app),
        *await replica_findings(app),
        *await _row_security(app),
        *([model, await _embedding(app)] if model.good else [model]),
        *await _language_model(app),
        _guard(app.settings),
        await _contents(app),
        *await host_findings(app),
        # a recall needs vectors of the configured model
        *(_plan(await recall_plan(app)) if model.good else []),
    ]


async def _rows(app: Remembrancer, name: str, **binds: Any) -> Sequence[Any]:
    async with app.database.system() as connection:
        return (await connection.execute(_query(name), binds)).all()


async def _server(app: Remembrancer) -> list[Finding]:
    [row] = await _rows(app, "server")
    kind = "embedded" if app.settings.database_url is None else "your server"
    way = "direct"
    if await app.database.is_pooled():
        way = "through a pooler: a worker looks for jobs every 2 s"
        if not await app.database.is_prepared():
            way += "; statements are not prepared, which PgBouncer 1.21 or newer can do"
    return [
        Finding(row.number >= 160000, "Postgres", f"{row.server} ({kind})"),
        Finding(row.vector is not None, "pgvector", row.vector or "not installed"),
        Finding(True, "Connections", way),
        Finding(row.role == APP_ROLE, "Database role", row.role),
    ]


async def replica_findings(app: Remembrancer) -> list[Finding]:
    """Whether the replica answers, and how far behind it is; nothing without one."""
    if app.database.replica is None:
        return []
    try:
        behind = await app.database.replica.behind()
    except RemembrancerError as error:
        return [Finding(False, "Replica", f"it {error}; the primary answers in its place")]
    return [Finding(True, "Replica", f"{behind:,} bytes behind")]


async def _row_security(app: Remembrancer) -> list[Finding]:
    unprotected = [row.relname for row in await _rows(app, "unprotected", role=APP_ROLE)]
    [role] = await _rows(app, "role_rights", role=APP_ROLE)
    owns = f"owns {role.owned} tables or indexes" if role.owned else "owns nothing"
    bound = "not bound by row-level security" if role.unbound else "bound by row-level security"
    [session] = await _rows(app, "login")
    login = f"{session.login}, which can act as {', '.join(session.stronger)}: {_LOGIN_ADVICE}"
    return [
        Finding(
            not unprotected,
            "Row-level security",
            f"not forced on {', '.join(unprotected)}" if unprotected else "forced on all tables",
        ),
        Finding(not role.owned and not role.unbound, "Role's rights", f"{owns}, {bound}"),
        Finding(
            not session.stronger,
            "Login",
            login if session.stronger else f"{session.login}, which can act as nobody stronger",
        ),
    ]


async def _model(app: Remembrancer) -> Finding:
    embedder = app.embedder
    rows = await _rows(app, "model")
    sizes = [row.size for row in await _rows(app, "vector_sizes")]
    stored = rows[0] if rows else None
    configured = (embedder.name, embedder.dimensions)
    problem = ""
    if stored is not None and (stored.name, stored.dimensions) != configured:
        problem = f"{embedder.name} is set, the store has {stored.name}"
    elif sizes not in ([], [embedder.dimensions]):
        problem = f"vectors of sizes {sizes}"
    result = f"{embedder.name}, {embedder.dimensions} dimensions"
    if problem:
        result = f"{problem}: run `remembrancer reembed`"
    return Finding(not problem, "Embedding model", result)


async def _embedding(app: Remembrancer) -> Finding:
    begun = time.monotonic()
    try:
        await app.embedder.embed_query("Is anybody there?")
    except RemembrancerError as error:
        return Finding(False, "Embedding", str(error))
    return Finding(True, "Embedding", f"answers in {_since(begun)}")


async def _language_model(app: Remembrancer) -> list[Finding]:
    use = _use_of_model(app.settings)
    if app.language_model is None:
        return [use]
    begun = time.monotonic()
    try:
        await app.language_model.chat(
            "Answer in one word.", [UserText("Is anybody there?")], on_text=lambda _: None
        )
    except RemembrancerError as error:
        return [use, Finding(False, "Language model call", str(error))]
    return [use, Finding(True, "Language model call", f"answers in {_since(begun)}")]


def _since(begun: float) -> str:
    return f"{time.monotonic() - begun:.2f} s"


def _use_of_model(settings: Settings) -> Finding:
    if not settings.llm.model:
        result = "none: summaries are transcripts, no facts (set llm.model)"
    elif not settings.extraction.facts:
        result = f"{settings.llm.model} writes summaries, but extracts no facts"
    else:
        review = ", which need a review" if settings.extraction.review == "confirm" else ""
        result = f"{settings.llm.model} writes summaries and extracts facts{review}"
    return Finding(True, "Language model", result)


def _guard(settings: Settings) -> Finding:
    actions = {
        action: [name.replace("_", " ") for name, set_to in settings.guard if set_to == action]
        for action in ("block", "redact", "allow")
    }
    result = "; ".join(
        f"{action}s {', '.join(names)}" for action, names in actions.items() if names
    )
    return Finding(True, "Guard", result)


async def _contents(app: Remembrancer) -> Finding:
    return Finding(True, "Contents", contents(await counts(app.database)))


def _plan(plan: Plan | None) -> list[Finding]:
    if plan is None:
        return [Finding(True, "Recall", "no memories yet")]
    scanned = [name for name, rows in plan.whole_tables.items() if rows > _LARGE]
    indexes = ", ".join(plan.indexes) or "no index, because the tables are small"
    return [
        Finding(
            True,
            "Recall",
            f"{plan.planning:.1f} ms planning, {plan.execution:.1f} ms running, "
            f"for the user with the most items ({plan.items:,})",
        ),
        Finding(
            not scanned,
            "Recall plan",
            f"reads all of {', '.join(scanned)}: run ANALYZE" if scanned else f"uses {indexes}",
        ),
    ]

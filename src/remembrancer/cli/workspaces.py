"""``workspaces``: create, list, limit, suspend, migrate, move and drop workspaces."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from remembrancer.app import Remembrancer
from remembrancer.cli.command import Output, command
from remembrancer.cli.exit_codes import REFUSED
from remembrancer.cli.options import Apply, Yes
from remembrancer.cli.output import Rows, day, progress, table
from remembrancer.cli.runtime import ADMIN
from remembrancer.paging import all_items
from remembrancer.settings import MAIN
from remembrancer.text import plural
from remembrancer.workspaces.migrations import MOST_AT_ONCE
from remembrancer.workspaces.schemas import (
    DropReceipt,
    MoveState,
    NewWorkspace,
    Workspace,
    WorkspaceLimits,
    WorkspaceState,
)

group = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the workspace.")]
RequestsPerMinute = Annotated[
    int | None, typer.Option(min=1, help="Requests in a minute.", show_default="no limit")
]


def _table(workspaces: Sequence[Workspace]) -> Rows:
    rows = [
        [
            w.name,
            _state(w),
            w.server,
            w.revision,
            str(w.limits.requests_per_minute or ""),
            day(w.created_at),
            day(w.used_at),
        ]
        for w in workspaces
    ]
    return table(
        "Name",
        "State",
        "Server",
        "Schema",
        "Per minute",
        "Created",
        "Last used",
        rows=rows,
        empty="There is only the workspace default. To create one:"
        " remembrancer workspaces create NAME",
    )


def _state(workspace: Workspace) -> str:
    move = workspace.move
    return workspace.state if move is None else f"{workspace.state}, {move.state}"


def _one(workspace: Workspace) -> Rows:
    return _table([workspace])


def _with_secret(created: NewWorkspace) -> Group:
    secret = Text.assemble(
        "The secret of its first admin key, shown only once: ", (created.secret, "bold")
    )
    return Group(_one(created), secret)


@command(group, "list", render=_table)
async def list_(app: Remembrancer) -> Sequence[Workspace]:
    """List the workspaces, all but the default one.

    Examples:
      remembrancer workspaces list
    """
    return await all_items(partial(app.workspaces.list, ADMIN))


@command(group, render=_with_secret)
async def create(
    app: Remembrancer,
    name: Annotated[str, typer.Argument(help="Small letters, digits and hyphens.")],
    server: Annotated[str, typer.Option(help="A server of the setting workspaces.servers.")] = MAIN,
    requests_per_minute: RequestsPerMinute = None,
) -> NewWorkspace:
    """Create a workspace: own users, agents, keys and policy, in a database of its own.

    Other commands work on it with `remembrancer --workspace NAME`.

    Examples:
      remembrancer workspaces create acme
      remembrancer --workspace acme users list
    """
    limits = WorkspaceLimits(requests_per_minute=requests_per_minute)
    return await app.workspaces.create(ADMIN, name, server=server, limits=limits)


@command(group, render=_one)
async def limit(
    app: Remembrancer,
    name: Name,
    requests_per_minute: Annotated[
        int | None, typer.Option(min=1, help="Requests in a minute.", show_default=False)
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Take its limits away.")] = False,
) -> Workspace:
    """Set the limits of a workspace, or take them away.

    Examples:
      remembrancer workspaces limit acme --requests-per-minute 600
      remembrancer workspaces limit acme --none
    """
    if none == (requests_per_minute is not None):
        raise typer.BadParameter(
            "give a number, or --none for no limit", param_hint="--requests-per-minute"
        )
    limits = WorkspaceLimits(requests_per_minute=requests_per_minute)
    return await app.workspaces.limit(ADMIN, name, limits)


@command(group, render=_one)
async def suspend(app: Remembrancer, name: Name) -> Workspace:
    """Refuse all requests to a workspace until it is resumed.

    Examples:
      remembrancer workspaces suspend acme
    """
    return await app.workspaces.suspend(ADMIN, name)


@command(group, render=_one)
async def resume(app: Remembrancer, name: Name) -> Workspace:
    """Let a suspended workspace be used again.

    Examples:
      remembrancer workspaces resume acme
    """
    return await app.workspaces.resume(ADMIN, name)


@command(group, json=True)
async def migrate(
    app: Remembrancer,
    canary: Annotated[
        str | None,
        typer.Option(help="The workspace to begin with.", show_default="the first by name"),
    ] = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=MOST_AT_ONCE, help="How many side by side.")
    ] = 4,
) -> Output:
    """Bring all workspaces to the schema of this version.

    First one alone: if it fails, the others stay as they are. Run it again to go on.

    Examples:
      remembrancer workspaces migrate
      remembrancer workspaces migrate --canary acme --at-once 8
    """
    with progress() as bar:
        task = bar.add_task("Workspaces", total=None)
        report = await app.workspaces.migrate(
            ADMIN,
            canary=canary,
            at_once=at_once,
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    failed = [f"{each.name}: {each.reason}" for each in report.items if each.reason is not None]
    done = plural(len(report.items) - len(failed), "workspace")
    text = f"{done} brought to the schema {report.revision}."
    if not report.is_complete:
        text = "\n".join([*failed, f"{text} The others are as before: run it again."])
    return Output(report, text, code=0 if report.is_complete else REFUSED)


@command(group, json=True)
async def move(
    app: Remembrancer,
    name: Name,
    server: Annotated[str, typer.Argument(help="A server of the setting workspaces.servers.")],
) -> Output:
    """Move a workspace to another server while it is used.

    Its rows are copied, each is compared, and then writes wait for about a second. Ctrl-C stops it;
    run it again to go on, or undo it. Afterwards confirm the move, or undo it.

    Examples:
      remembrancer workspaces move acme two
    """
    with progress() as bar:
        task = bar.add_task("Copy", total=None)

        def show(done: int, total: int) -> None:
            what = "Compare" if done == total > 0 else "Copy"
            bar.update(task, description=what, completed=done, total=total or None)

        while True:
            moved = await app.workspaces.move(ADMIN, name, server, on_progress=show)
            if moved.move is None or moved.move.state == MoveState.MOVED:
                break
    if moved.move is None:
        return Output(moved, f"{name} is on {moved.server}.", code=REFUSED)
    said = [f"{name} is on {moved.server}"]
    if moved.move.pause_ms is not None:
        rows = plural(moved.move.rows or 0, "row")
        said.append(f"{rows} compared, writes waited {moved.move.pause_ms} ms")
    text = (
        f"{': '.join(said)}."
        f" Until you confirm it, {moved.move.from_server} has a copy, and the move can be undone:\n"
        f"  remembrancer workspaces confirm-move {name}\n"
        f"  remembrancer workspaces undo-move {name}"
    )
    return Output(moved, text)


@command(group, json=True)
async def confirm_move(app: Remembrancer, name: Name) -> Output:
    """Drop what a workspace left on its old server; its move cannot be undone any more.

    Examples:
      remembrancer workspaces confirm-move acme
    """
    confirmed = await app.workspaces.confirm_move(ADMIN, name)
    return Output(confirmed, f"{name} stays on {confirmed.server}; its old database is dropped.")


@command(group, json=True)
async def undo_move(app: Remembrancer, name: Name) -> Output:
    """Bring a workspace back with all that was written since, or stop its copy.

    Examples:
      remembrancer workspaces undo-move acme
    """
    undone = await app.workspaces.undo_move(ADMIN, name)
    return Output(undone, f"{name} is on {undone.server}, with all that was written since.")


@command(group, json=True)
async def drop(app: Remembrancer, name: Name, apply: Apply = False, yes: Yes = False) -> Output:
    """Drop a workspace with all that is in it, for good. Suspend it first.

    One whose creation did not end is dropped as it is.

    Examples:
      remembrancer workspaces drop acme
      remembrancer workspaces drop acme --apply
    """
    receipt = await app.workspaces.drop(ADMIN, name)
    if apply:
        found = await app.workspaces.get(ADMIN, name)
        if not yes and found.state != WorkspaceState.ACTIVE:  # that one is refused
            question = f"Drop {name} with {_content(receipt)} for good?"
            typer.confirm(question, abort=True, err=True)
        receipt = await app.workspaces.drop(ADMIN, name, dry_run=False)
    rest = "dropped." if apply else "to drop for good. To drop: --apply"
    return Output(receipt, f"{receipt.name}: {_content(receipt)} {rest}")


def _content(receipt: DropReceipt) -> str:
    rows = (
        (receipt.users, "user", "users"),
        (receipt.agents, "agent", "agents"),
        (receipt.memories, "memory", "memories"),
        (receipt.messages, "message", "messages"),
        (receipt.bytes, "byte", "bytes"),
    )
    told = [plural(count, one, many) for count, one, many in rows if count is not None]
    return ", ".join(told if len(told) > 1 else ["what cannot be counted", *told])

"""``migrate-preferences``: from the deprecated toggle to preferences for single agents."""

from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import as_json, console, progress
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.preferences.migration import ToggleMigration
from remembrancer.preferences.schemas import MigrationCounts


def migrate_preferences(
    context: typer.Context,
    apply: Annotated[
        bool, typer.Option("--apply", help="Do it. Without this, only count what is to be done.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the deprecated toggle for all agents down as preferences for single agents.

    Every user whose toggle is off gets a preference for each agent they have none for.
    Interrupted or repeated, this makes what is missing and nothing else.
    """

    async def work(app: Remembrancer) -> MigrationCounts:
        migration = ToggleMigration(app.database)
        todo = await migration.plan(ADMIN)
        if not apply:
            return todo
        with progress() as bar:
            task = bar.add_task("Users", total=todo.users)
            return await migration.apply(ADMIN, lambda count: bar.advance(task, count))

    counts = with_store(context, work, check_model=False)
    if json:
        as_json(counts)
    else:
        _tell(counts, applied=apply)


def _tell(counts: MigrationCounts, *, applied: bool) -> None:
    screen = console()
    screen.print(f"{counts.users:,} users have their toggle off.")
    if applied:
        screen.print(f"{counts.preferences:,} preferences were made.")
    elif counts.preferences:
        screen.print(f"{counts.preferences:,} preferences are missing. Make them with --apply.")
    else:
        screen.print("Nothing to do: their preferences say the same for every agent.")

"""``migrate-preferences``: replace the deprecated toggle by preferences per agent."""

from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.command import Output, store_command
from remembrancer.cli.output import progress
from remembrancer.cli.runtime import ADMIN
from remembrancer.preferences.migration import ToggleMigration
from remembrancer.preferences.schemas import MigrationCounts


@store_command(check_model=False)
async def migrate_preferences(
    app: Remembrancer,
    apply: Annotated[
        bool, typer.Option("--apply", help="Migrate. Without it, only count.")
    ] = False,
) -> Output:
    """Replace the deprecated toggle for all agents by preferences per agent.

    Every user with the toggle off gets a preference for each agent without one. Safe to repeat
    and to interrupt.
    """
    migration = ToggleMigration(app.database)
    counts = await migration.plan(ADMIN)
    if apply:
        with progress() as bar:
            task = bar.add_task("Users", total=counts.users)
            counts = await migration.apply(ADMIN, lambda count: bar.advance(task, count))
    return Output(counts, _summary(counts, applied=apply))


def _summary(counts: MigrationCounts, *, applied: bool) -> str:
    users = f"{counts.users:,} users have the toggle off."
    if applied:
        return f"{users}\n{counts.preferences:,} preferences were created."
    if counts.preferences:
        return f"{users}\n{counts.preferences:,} preferences are missing. To create them: --apply"
    return f"{users}\nNothing to do: their preferences say the same for every agent."

"""``migrate-preferences``: replace the deprecated toggle by preferences per agent."""

from typing import Annotated

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.options import Json
from remembrancer.cli.output import progress, show
from remembrancer.cli.runtime import ADMIN, with_store
from remembrancer.preferences.migration import ToggleMigration
from remembrancer.preferences.schemas import MigrationCounts


def migrate_preferences(
    context: typer.Context,
    apply: Annotated[
        bool, typer.Option("--apply", help="Migrate. Without it, only count.")
    ] = False,
    json: Json = False,
) -> None:
    """Replace the deprecated toggle for all agents by preferences per agent.

    Every user with the toggle off gets a preference for each agent without one. Safe to repeat
    and to interrupt.
    """

    async def work(app: Remembrancer) -> MigrationCounts:
        migration = ToggleMigration(app.database)
        plan = await migration.plan(ADMIN)
        if not apply:
            return plan
        with progress() as bar:
            task = bar.add_task("Users", total=plan.users)
            return await migration.apply(ADMIN, lambda count: bar.advance(task, count))

    counts = with_store(context, work, check_model=False)
    show(counts, json, lambda counts: _summary(counts, applied=apply))


def _summary(counts: MigrationCounts, *, applied: bool) -> str:
    users = f"{counts.users:,} users have the toggle off."
    if applied:
        return f"{users}\n{counts.preferences:,} preferences were created."
    if counts.preferences:
        return f"{users}\n{counts.preferences:,} preferences are missing. To create them: --apply"
    return f"{users}\nNothing to do: their preferences say the same for every agent."

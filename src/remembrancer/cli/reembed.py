"""``reembed``: switch to another embedding model while the old server runs."""

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import console, progress
from remembrancer.cli.runtime import with_store
from remembrancer.search.reembed import Reembedding


def reembed(context: typer.Context) -> None:
    """Embed all texts again with the configured model. No LLM is called.

    A server may keep running with the old model meanwhile; restart it with the new model
    afterwards. After an interruption, run the command again to continue.
    """
    screen = console()
    count = with_store(context, _work, check_model=False)
    if count is None:
        screen.print("Nothing to do: all vectors are of the configured model.")
    else:
        screen.print(f"{count:,} texts are embedded with the configured model. Restart the server.")


async def _work(app: Remembrancer) -> int | None:
    reembedding = Reembedding(app.database, app.embedder)
    if not await reembedding.needed():
        return None
    state = await reembedding.begin()
    with progress() as bar:
        task = bar.add_task("Items", total=state.items, completed=state.done)
        await reembedding.gather(lambda count: bar.advance(task, count))
        bar.update(task, description="Replacing the vectors")
        return await reembedding.finish()

"""``reembed``: from one embedding model to another, while the old server runs."""

import typer

from remembrancer.app import Remembrancer
from remembrancer.cli.output import console, progress
from remembrancer.cli.runtime import with_store
from remembrancer.search.reembed import Reembedding


def reembed(context: typer.Context) -> None:
    """Embed everything anew with the configured model. No LLM is called.

    A server with the old model may go on until the end; then it must be restarted with
    the new one. Interrupted, this goes on where it was.
    """
    screen = console()
    swapped = with_store(context, _work, check_model=False)
    if swapped is None:
        screen.print("Nothing to do: the store holds vectors of the configured model.")
    else:
        screen.print(f"{swapped:,} vectors are of the configured model now. Restart the server.")


async def _work(app: Remembrancer) -> int | None:
    work = Reembedding(app.database, app.embedder)
    if not await work.needed():
        return None
    todo = await work.begin()
    with progress() as bar:
        task = bar.add_task("Items", total=todo.items, completed=todo.done)
        await work.gather(lambda count: bar.advance(task, count))
        bar.update(task, description="Putting them in place")
        return await work.finish()

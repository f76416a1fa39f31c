"""``serve``: the store and its HTTP server, in this process."""

from typing import Annotated

import typer

from remembrancer.cli.runtime import log_to_stderr, run, settings_of


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to bind.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to bind; 0 picks a free one.")
    ] = None,
    with_sample: Annotated[
        bool, typer.Option("--sample/--no-sample", help="Fill an empty store with the sample.")
    ] = False,
    public_url: Annotated[
        str | None, typer.Option(help="Address people reach the server at, behind a proxy.")
    ] = None,
) -> None:
    """Serve the REST API until Ctrl-C."""
    settings = settings_of(context)
    given = {"host": host, "port": port, "public_url": public_url}
    server = settings.server.model_copy(update={k: v for k, v in given.items() if v is not None})
    log_to_stderr(settings.log_level)
    # FastAPI takes a second to import, and no other command needs it
    from remembrancer.cli.server_lifecycle import until_stopped  # noqa: PLC0415

    run(until_stopped(settings.model_copy(update={"server": server}), with_sample=with_sample))

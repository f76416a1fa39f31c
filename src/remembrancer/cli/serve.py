"""``serve``: the HTTP server."""

from typing import Annotated

import typer

from remembrancer.cli.runtime import log_to_stderr, run, settings_of


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to bind.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to bind; 0 selects a free port.")
    ] = None,
    with_sample: Annotated[
        bool, typer.Option("--sample/--no-sample", help="Add sample data to an empty store.")
    ] = False,
    public_url: Annotated[
        str | None, typer.Option(help="Public address of the server, behind a proxy.")
    ] = None,
) -> None:
    """Serve the REST API, the web pages and MCP until Ctrl-C."""
    settings = settings_of(context)
    options = {"host": host, "port": port, "public_url": public_url}
    server = settings.server.model_copy(update={k: v for k, v in options.items() if v is not None})
    log_to_stderr(settings.log_level)
    # FastAPI takes a second to import; only this command needs it
    from remembrancer.cli.server_lifecycle import until_stopped  # noqa: PLC0415

    work = until_stopped(settings.model_copy(update={"server": server}), with_sample=with_sample)
    run(work, serves=True)

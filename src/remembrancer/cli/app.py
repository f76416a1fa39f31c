"""The command ``remembrancer``: global options and all commands."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr

from remembrancer import version
from remembrancer.cli import (
    agents,
    audit,
    backup,
    chat,
    demo,
    doctor,
    document,
    erase,
    import_,
    jobs,
    keys,
    mcp,
    preferences,
    recall,
    reembed,
    remember,
    review,
    serve,
    spaces,
    summarize,
    tools,
    users,
    worker,
)
from remembrancer.settings import Settings

app = typer.Typer(
    name="remembrancer",
    help="Memory for AI agents: who said what, recalled only for whom it may be.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"remembrancer {version.__version__}")
        raise typer.Exit


@app.callback(no_args_is_help=True)
def options(
    context: typer.Context,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Where the embedded database, the admin key and other state live."),
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option(help="A Postgres 16+ with pgvector to use instead of the embedded one."),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of every command; what is not given comes from REMEMBRANCER_… variables."""
    given: dict[str, Any] = {}
    if data_dir is not None:
        given["data_dir"] = data_dir
    if database_url is not None:
        given["database_url"] = SecretStr(database_url)
    context.obj = Settings(**given)


app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.command("import")(import_.import_)
app.command("remember")(remember.remember)
app.command("recall")(recall.recall)
app.add_typer(review.group, name="review")
app.command("chat")(chat.chat)
app.add_typer(mcp.group, name="mcp")
app.add_typer(users.group, name="users")
app.add_typer(agents.group, name="agents")
app.add_typer(spaces.group, name="spaces")
app.add_typer(keys.group, name="keys")
app.command("audit")(audit.audit)
app.add_typer(erase.group, name="erase")
app.command("export")(erase.export)
app.add_typer(document.group, name="document")
app.command("budget")(document.budget)
app.add_typer(tools.group, name="tools")
app.command("doctor")(doctor.doctor)
app.command("reembed")(reembed.reembed)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("worker")(worker.worker)
app.command("jobs")(jobs.jobs)
app.command("summarize")(summarize.summarize)
app.command("migrate-preferences")(preferences.migrate_preferences)

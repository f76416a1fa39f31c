"""``doctor``: check the installation."""

import platform
import sys

import typer
from rich.text import Text

from remembrancer import version
from remembrancer.app import Remembrancer
from remembrancer.cli.health_checks import Finding, check_data_directory, check_store
from remembrancer.cli.output import console, plain
from remembrancer.cli.runtime import settings_of, with_store


def doctor(context: typer.Context) -> None:
    """Check the installation, the store and its query plans. Exit code 1 means a problem."""
    settings = settings_of(context)
    findings = [
        Finding(True, "Remembrancer", version.__version__),
        Finding(True, "Python", f"{platform.python_version()} on {sys.platform}"),
    ]

    async def work(app: Remembrancer) -> list[Finding]:
        return await check_store(app)

    # the store comes first: it creates the data directory
    store = with_store(context, work, check_model=False)
    findings += [*check_data_directory(settings), *store]
    screen = console()
    for finding in findings:
        screen.print(_line(finding), soft_wrap=True)
    problems = [finding for finding in findings if not finding.good]
    if problems:
        screen.print(Text(f"{len(problems)} of {len(findings)} checks found a problem.", "red"))
        raise typer.Exit(1)
    screen.print(Text("All checks passed.", style="green"))


def _line(finding: Finding) -> Text:
    mark = ("✓ ", "green") if finding.good else ("✗ ", "bold red")
    return Text.assemble(mark, (f"{finding.subject:<22}", "bold"), plain(finding.result))

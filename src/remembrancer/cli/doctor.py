"""``doctor``: whether everything is as it should be."""

import platform
import sys

import typer
from rich.text import Text

from remembrancer import version
from remembrancer.app import Remembrancer
from remembrancer.cli.checks import Finding, data_directory, examine
from remembrancer.cli.output import console, plain
from remembrancer.cli.runtime import settings_of, with_store


def doctor(context: typer.Context) -> None:
    """Check the installation, the store and its plans. Exits with 1 if something is wrong."""
    settings = settings_of(context)
    findings = [
        Finding(True, "Remembrancer", version.__version__),
        Finding(True, "Python", f"{platform.python_version()} on {sys.platform}"),
    ]

    async def work(app: Remembrancer) -> list[Finding]:
        return await examine(app)

    # first the store, which makes the directory if there was none
    found = with_store(context, work, check_model=False)
    findings += [*data_directory(settings), *found]
    screen = console()
    for finding in findings:
        screen.print(_line(finding), soft_wrap=True)
    wrong = [finding for finding in findings if not finding.good]
    if wrong:
        screen.print(Text(f"{len(wrong)} of {len(findings)} checks found something wrong.", "red"))
        raise typer.Exit(1)
    screen.print(Text("Everything is as it should be.", style="green"))


def _line(finding: Finding) -> Text:
    mark = ("✓ ", "green") if finding.good else ("✗ ", "bold red")
    return Text.assemble(mark, (f"{finding.about:<22}", "bold"), plain(finding.found))

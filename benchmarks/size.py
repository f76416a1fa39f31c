"""What an installation takes: the wheel of this tree in a fresh environment, by distribution.

Megabytes are of files on disk with the bytecode that pip compiles, without pip itself.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock

from benchmarks.common import show, write

ROOT = Path(__file__).parents[1]
SETS = ". cli mcp server llm all"


def build_wheel(directory: Path) -> Path:
    """Build the wheel of this tree, with what is installed here."""
    options = ["--target", "wheel", "--directory", directory]
    (ROOT / "build").mkdir(exist_ok=True)
    # The documentation is built in the tree: by one process at a time.
    with FileLock(ROOT / "build" / "wheel.lock"):
        # Not by pip, which builds everything twice.
        command = [sys.executable, "-m", "hatchling", "build", *options]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    [wheel] = directory.glob("*.whl")
    return wheel


def environment(directory: Path, python: str = sys.executable) -> Path:
    """Make an environment, and return its interpreter."""
    subprocess.run([python, "-m", "venv", directory], check=True)
    return directory / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def install(python: Path, wheel: Path, extras: str = "", *options: str) -> None:
    """Install a wheel with extras."""
    _pip(python, "install", f"{wheel}[{extras}]" if extras else wheel, *options)


def constraints(directory: Path) -> tuple[str, str]:
    """Return options for pip: the locked versions, not what came out this morning."""
    lines = (ROOT / "requirements" / "app.txt").read_text("utf-8").splitlines()
    path = directory / "app.txt"
    path.write_text("\n".join(line.removesuffix(" \\") for line in lines if "==" in line), "utf-8")
    return "--constraint", str(path)


def _pip(python: Path, *arguments: str | Path) -> None:
    quiet = ("--quiet", "--quiet", "--disable-pip-version-check")
    subprocess.run([python, "-m", "pip", *arguments, *quiet], check=True)


def sizes(directory: Path) -> dict[str, float]:
    """Return the megabytes of each distribution in an environment, largest first."""
    [packages] = directory.glob("[Ll]ib/**/site-packages")
    found = {each.name: _bytes(each) / 1e6 for each in distributions(path=[str(packages)])}
    found = {name: size for name, size in found.items() if name not in ("pip", "setuptools")}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _bytes(distribution: Distribution) -> int:
    paths = [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]
    return sum(path.stat().st_size for path in paths if path.exists())


def main(
    extras: Annotated[str, typer.Option(help="Sets of extras, by spaces; . is none.")] = SETS,
    largest: Annotated[int, typer.Option(min=0, help="Distributions to list of the first.")] = 25,
) -> None:
    """Install the wheel with each set of extras, and print what it takes."""
    results = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        wheel = build_wheel(Path(name))
        for number, chosen in enumerate(extras.split()):
            place = Path(name, str(number))
            install(environment(place), wheel, chosen.strip("."))
            results[chosen] = sizes(place)
    rows = [[name, len(each), round(sum(each.values()))] for name, each in results.items()]
    show("Installations", ["extras", "distributions", "MB"], rows)
    first = next(iter(results.values()))
    show("Largest", ["of the first", "MB"], [*list(first.items())[:largest]])
    write("size", {"benchmark": "size", "megabytes": results})


if __name__ == "__main__":
    typer.run(main)

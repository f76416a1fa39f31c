"""Writes what an installation of the wheel has as CycloneDX JSON: `make sbom`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.size import ROOT, build_wheel, constraints, environment, install


def main() -> None:
    """Install the wheel with the extra `all` and the locked versions, and list what came."""
    tool, target = sys.argv[1:]
    Path(target).parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment(folder / "venv")
        install(python, build_wheel(folder), "all", *constraints(folder))
        uninstall = [python, "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip"]
        subprocess.run(uninstall, check=True)  # noqa: S603 - a fixed command
        options = ["--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "--validate"]
        command = [tool, "environment", *options, "--output-file", target, python]
        subprocess.run(command, check=True)  # noqa: S603 - the tool of the Makefile


if __name__ == "__main__":
    main()

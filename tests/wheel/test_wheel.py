"""The wheel in an environment of its own, as somebody's project has it: ``make wheel-check``.

With Python 3.11, 3.12 and 3.13, where they are found.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
from filelock import FileLock

from benchmarks.size import build_wheel, constraints, environment, install, sizes

pytestmark = pytest.mark.wheel

VERSIONS = ("3.11", "3.12", "3.13")
MEGABYTES = 372
"""What the wheel without extras may take, in MB."""

HELLO = """
from remembrancer import Memory

with Memory("./memory") as memory:
    memory.remember("I drink tea, never coffee.", user="ada")
    print(memory.recall("What does Ada drink?", user="ada"))
"""
MODEL = """
from remembrancer import Memory, MissingExtra

with Memory("./memory") as memory:
    try:
        list(memory.chat("Hello", user="ada", model="openai:gpt-5-mini"))
    except MissingExtra as error:
        print(error)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by whichever process comes first, for all of them."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    with FileLock(f"{place}.lock"):
        return next(place.glob("*.whl"), None) or build_wheel(place)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return constraints(tmp_path_factory.mktemp("constraints"))


# One process for each version, so that their installations run side by side.
@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=pytest.mark.xdist_group(one)) for one in VERSIONS],
)
def python(
    request: pytest.FixtureRequest,
    wheel: Path,
    locked: tuple[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The interpreter of an environment with the wheel, without extras."""
    interpreter = find_python(request.param)
    if interpreter is None:
        pytest.skip(f"no Python {request.param}")
    python = environment(tmp_path_factory.mktemp("venv") / "venv", interpreter)
    install(python, wheel, "", *locked)
    return python


def find_python(version: str) -> str | None:
    """Return an interpreter that runs; a shim of pyenv may not."""
    beside = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    names = [shutil.which(f"python{version}"), *sorted(beside.glob(f"{version}.*/bin/python"))]
    for name in filter(None, names):
        run = subprocess.run([name, "-c", "import venv, ensurepip"], check=False)
        if run.returncode == 0:
            return str(name)
    return None


def run(python: Path, *arguments: str, directory: Path) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory)}
    return subprocess.run(
        [python, "-W", "error", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_program_runs_without_extras(python: Path, tmp_path: Path) -> None:
    """``pip install remembrancer`` remembers and recalls, twice the same, without a warning."""
    for _ in range(2):
        hello = run(python, "-c", HELLO, directory=tmp_path)
        assert hello.stderr == ""
        assert "I drink tea, never coffee." in hello.stdout
        assert len(hello.stdout.splitlines()) == 1


def test_a_missing_extra_is_told_in_a_line(python: Path, tmp_path: Path) -> None:
    """The library and the commands say what to install."""
    model = run(python, "-c", MODEL, directory=tmp_path)
    assert model.stdout == (
        "pydantic_ai is not installed; run: pip install 'remembrancer[llm]'\n"
    ), model.stderr
    help_ = run(python, "-m", "remembrancer", "--help", directory=tmp_path)
    assert help_.returncode == 2
    assert help_.stderr == "error: typer is not installed; run: pip install 'remembrancer[cli]'\n"


def test_the_installation_is_small(python: Path) -> None:
    """It does not grow unseen: `python -m benchmarks.size` says what takes the room."""
    assert sum(sizes(python.parents[1]).values()) < MEGABYTES


def test_a_server_runs_with_its_extra(
    python: Path, wheel: Path, locked: tuple[str, str], tmp_path: Path
) -> None:
    """Commands name the extra that they miss; with it, ``demo`` plays the sample on a server."""
    # Bytecode is for the size alone.
    install(python, wheel, "cli", "--no-compile", *locked)
    data = ("--data-dir", str(tmp_path / "data"))
    for command, extra in (("serve", "server"), ("mcp", "mcp"), ("openapi", "server")):
        refused = run(python, "-m", "remembrancer", *data, command, directory=tmp_path)
        assert refused.returncode == 2, refused.stderr
        assert refused.stderr.endswith(f"pip install 'remembrancer[{extra}]'\n")
        assert len(refused.stderr.splitlines()) == 1
    install(python, wheel, "server", "--no-compile", *locked)
    played = run(python, "-m", "remembrancer", "demo", directory=tmp_path)
    assert played.returncode == 0, played.stderr
    # Without "-W error": pip has warnings of its own.
    pip = [python, "-m", "pip", "check"]
    checked = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_two_builds_are_the_same_bytes_and_only_the_package(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Anybody can build what was published; no test, cache or source map is in it."""
    again = build_wheel(tmp_path_factory.mktemp("again"))
    with ZipFile(wheel) as one, ZipFile(again) as other:
        names = one.namelist()
        assert [name for name in names if one.read(name) != other.read(name)] == []
    assert wheel.read_bytes() == again.read_bytes()
    strange = re.compile(r"(^|/)tests?/|__pycache__|\.(pyc|map|po~|orig)$|/lunr/|sitemap")
    assert [name for name in names if strange.search(name)] == []
    assert {name.partition("/")[0] for name in names} == {
        "remembrancer",
        "remembrancer-0.1.0.dist-info",
    }
    texts = ("licenses/LICENSE", "licenses/NOTICE")
    assert [name for name in names if name.endswith(texts)] == [
        f"remembrancer-0.1.0.dist-info/{text}" for text in texts
    ]

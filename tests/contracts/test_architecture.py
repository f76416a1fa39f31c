"""docs/architecture.md describes the tree as it is."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "remembrancer"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_package_is_in_the_table() -> None:
    """Each package and each module at the top of the tree has its line, and no line is stale."""
    # A folder without modules is what git leaves of a package that has moved.
    tree = {path.parent.name for path in SOURCE.glob("*/*.py")}
    tree |= {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"}
    rows = re.findall(r"^\| (`[^|]+) \|", _section("Packages"), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert sorted(named) == sorted(tree)


def test_every_file_of_the_page_exists() -> None:
    """A path in the text leads to a file of the package."""
    paths = set(re.findall(r"`([\w/]+/[\w/.]+?\.(?:py|sql))[:`]", PAGE))
    assert len(paths) > 10
    missing = sorted(path for path in paths if not (SOURCE / path).is_file())
    assert not missing


@pytest.mark.parametrize("path", re.findall(r"`([\w/]+\.py:\w+)`", PAGE))
def test_every_function_of_the_page_exists(path: str) -> None:
    """What a question leads to is defined in the file that the page names."""
    file, _, function = path.partition(":")
    text = (SOURCE / file).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(?:async )?def {function}\(", text, re.MULTILINE), path


def test_the_layers_are_those_of_the_contract() -> None:
    """The page lists the layers that the import contract enforces, in their order."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    [contract] = [contract for contract in contracts if contract["type"] == "layers"]
    expected = [
        [name.strip().removeprefix("remembrancer.") for name in layer.split("|")]
        for layer in contract["layers"]
    ]
    lines = re.findall(r"^\d+\. (.+)$", _section("Layers"), re.MULTILINE)
    assert [re.findall(r"`(\w+)`", line) for line in lines] == expected


def test_migrations_are_in_the_order_of_their_numbers() -> None:
    """The highest number is the newest: a start compares the store's with it."""
    versions = [
        dict(re.findall(r'^(revision|down_revision) = "(\d+)"', path.read_text(), re.MULTILINE))
        for path in sorted((SOURCE / "db" / "migrations" / "versions").glob("*.py"))
    ]
    befores = [version.get("down_revision") for version in versions]
    assert befores == [None, *(version["revision"] for version in versions[:-1])]

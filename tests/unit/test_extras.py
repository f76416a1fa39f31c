"""Packages of extras that are not installed."""

import sys
from importlib import import_module

import pytest

from remembrancer.cli import main
from remembrancer.errors import MissingExtra
from remembrancer.extras import extra


@pytest.mark.parametrize(
    ("module", "package", "arguments", "needed"),
    [
        ("remembrancer.cli.app", "typer", ["--help"], "cli"),
        ("remembrancer.cli.serve", "fastapi", ["serve"], "server"),
        ("remembrancer.api.server", "fastapi", ["openapi"], "server"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
    package: str,
    arguments: list[str],
    needed: str,
) -> None:
    """One line and the exit code of a refusal, before a database starts."""
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    output = capsys.readouterr()
    assert output.err == (
        f"error: {package} is not installed; run: pip install 'remembrancer[{needed}]'\n"
    )


@pytest.mark.parametrize("platform", ["telegram", "discord"])
def test_a_chat_platform_names_its_extra(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    """Those who catch an ImportError get one."""
    monkeypatch.delitem(sys.modules, f"remembrancer.chat.{platform}", raising=False)
    monkeypatch.setitem(sys.modules, platform, None)
    with pytest.raises(ImportError, match=rf"remembrancer\[{platform}\]"):
        import_module(f"remembrancer.chat.{platform}")


def test_a_module_of_ours_that_is_missing_is_no_extra() -> None:
    """That is a bug, and nothing to install."""
    with pytest.raises(ModuleNotFoundError, match=r"remembrancer\.nothing") as error, extra("cli"):
        import_module("remembrancer.nothing")
    assert not isinstance(error.value, MissingExtra)

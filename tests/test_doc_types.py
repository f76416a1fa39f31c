"""README, docs and examples pass a strict type checker, without a plugin (case 55)."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from mypy import api
from test_docs import PAGES, ROOT, fences, is_program, name

HEAD = """\
from remembrancer import *
from remembrancer import Agent, Remembrancer, User


async def page(memory: Remembrancer, ada: User, helper: Agent) -> None:
    pass
"""


def modules(directory: Path) -> list[str]:
    """Write the Python of each page as modules: each program, and all pieces as one function."""
    paths = []
    for page in PAGES:
        stem = re.sub(r"\W", "_", name(page).removesuffix(".md"))
        codes = fences(page, "python")
        pieces = [textwrap.indent(code, "    ") for code in codes if not is_program(code)]
        programs = [code for code in codes if is_program(code)]
        sources = [*programs, *([HEAD + "\n".join(pieces)] if pieces else [])]
        for number, source in enumerate(sources):
            paths.append(directory / f"{stem}_{number}.py")
            paths[-1].write_text(source, encoding="utf-8")
    return [str(path) for path in paths]


def test_case_55_what_is_shown_passes_strict_types_without_a_plugin(tmp_path: Path) -> None:
    """As in a project of somebody else: mypy alone, with no configuration of ours."""
    shown = [*modules(tmp_path), *map(str, sorted((ROOT / "examples").glob("*.py")))]
    cache = os.environ.get("MYPY_CACHE_DIR") or ROOT / ".mypy_cache" / "docs"
    options = ["--strict", "--config-file=", f"--cache-dir={cache}", "--allow-redefinition"]
    output, errors, status = api.run([*options, *shown])
    assert (status, errors) == (0, ""), output


def test_case_55_the_page_of_the_library_is_one_program(tmp_path: Path) -> None:
    """Its examples go on inside the first one's `async with`, so no name has two types."""
    first, *rest = fences(ROOT / "docs" / "python.md", "python")
    opened, start = first.split("\n\n\nasyncio.run")
    pieces = [textwrap.indent(code, "        ") for code in rest if not is_program(code)]
    whole = tmp_path / "whole.py"
    whole.write_text(f"{opened}\n" + "\n".join(pieces) + f"\n\nasyncio.run{start}", "utf-8")
    cache = os.environ.get("MYPY_CACHE_DIR") or ROOT / ".mypy_cache" / "docs"
    options = ["--strict", "--config-file=", f"--cache-dir={cache}"]
    output, errors, status = api.run([*options, str(whole)])
    assert (status, errors) == (0, ""), output


def test_case_55_what_is_shown_passes_pyright(tmp_path: Path) -> None:
    """With its own defaults."""
    shown = [*modules(tmp_path), *map(str, sorted((ROOT / "examples").glob("*.py")))]
    options = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT / "src")], "include": shown}
    configuration = tmp_path / "pyrightconfig.json"
    configuration.write_text(json.dumps(options), encoding="utf-8")
    program = [sys.executable, "-m", "basedpyright", "--project", configuration]
    program += ["--pythonpath", sys.executable]
    ended = subprocess.run(program, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout

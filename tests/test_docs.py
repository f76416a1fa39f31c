"""The documentation is complete, its links resolve, and its examples run."""

import ast
import asyncio
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from scripted import Scripted

from remembrancer import AgentCreate, Remembrancer, Settings, as_actor

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def read(page: str) -> str:
    return (DOCS / f"{page}.md").read_text("utf-8")


def fences(page: Path, language: str) -> list[str]:
    """The blocks of a language, without whole examples, which are run as files."""
    found = _FENCE.findall(page.read_text("utf-8"))
    return [code for name, rest, code in found if name == language and "title=" not in rest]


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text("utf-8"))


def pages_with(language: str) -> list[Any]:
    return [pytest.param(page, id=name(page)) for page in PAGES if fences(page, language)]


# Settings -------------------------------------------------------------------


def settings(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """The dotted name of every setting."""
    for field, info in model.model_fields.items():
        # What is in a table of names has one row, with its parts.
        is_table = get_origin(info.annotation) is dict
        kinds = [] if is_table else [info.annotation, *get_args(info.annotation)]
        nested = [k for k in kinds if inspect.isclass(k) and issubclass(k, BaseModel)]
        if nested:
            yield from settings(nested[0], f"{path}{field}.")
        else:
            yield f"{path}{field}"


def test_every_setting_is_documented_and_nothing_else() -> None:
    """docs/settings.md has a row for each setting, with its variable, and no stale ones."""
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \|", read("settings"), re.MULTILINE)
    wanted = [
        (setting, "REMEMBRANCER_" + setting.upper().replace(".", "__"))
        for setting in settings(Settings)
    ]
    assert sorted(rows) == sorted(wanted)


def test_documented_defaults_are_the_defaults() -> None:
    """The default that docs/settings.md names is the one in the code."""
    text = read("settings")
    rows = re.findall(r"^\| `([\w.]+)` \| `\w+` \| (?:`([^`]*)`|none) \|", text, re.MULTILINE)
    for setting, written in rows:
        value: Any = Settings.model_construct()
        for part in setting.split("."):
            value = getattr(value, part)
        if isinstance(value, float):
            value = f"{value:g}"
        assert written == ("" if value is None else str(value)), setting


# Endpoints ------------------------------------------------------------------


async def test_every_endpoint_is_documented_and_nothing_else(application: FastAPI) -> None:
    """docs/rest.md has a row for each method and path of the API, and no stale ones."""
    rows = re.findall(r"^\| `([A-Z]+) ([^ `]+)` \|", read("rest"), re.MULTILINE)
    served = [
        (method.upper(), path)
        for path, operations in application.openapi()["paths"].items()
        for method in operations
    ]
    assert sorted(rows) == sorted(served)


# Commands -------------------------------------------------------------------


def root_command() -> Any:
    import typer

    from remembrancer.cli.app import app

    root: Any = typer.main.get_command(app)
    for name in list(root.commands):
        root.load(name)
    return root


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    if subcommands := getattr(command, "commands", None):
        if path and command.invoke_without_command:
            yield path, command
        for word, sub in subcommands.items():
            yield from commands(sub, (*path, word))
    else:
        yield path, command


def test_the_help_of_all_commands_has_the_first_lines_of_each() -> None:
    """`remembrancer --help` imports no command, and says what the commands say."""
    import typer

    from remembrancer.cli.app import app

    listed: Any = typer.main.get_command(app)
    for name, command in root_command().commands.items():
        first, *_ = command.help.split("\n\n")
        assert listed.commands[name].help == " ".join(first.split())


def test_the_page_of_commands_is_what_their_help_says() -> None:
    """docs/cli.md is as docs/cli_page.py writes it."""
    from docs.cli_page import PAGE, page

    assert PAGE.read_text("utf-8") == page(), "run `python docs/cli_page.py`"


def test_every_command_has_an_example_and_every_option_an_explanation() -> None:
    """What `--help` shows of a command is enough to use it."""
    for path, command in commands(root_command()):
        assert f"remembrancer {' '.join(path)}" in command.epilog, path
        for parameter in command.params:
            assert parameter.help, (path, parameter.name)


@pytest.mark.parametrize("page", pages_with("shell"))
def test_shell_examples_name_commands_that_exist(page: Path) -> None:
    """Lines that call `remembrancer` parse: the command, its options, its arguments."""
    for line in shell_lines(page):
        words = shlex.split(line, comments=True)
        check_call(words[words.index("remembrancer") + 1 :])


def shell_lines(page: Path) -> Iterator[str]:
    for block in fences(page, "shell"):
        for line in block.replace("\\\n", " ").splitlines():
            if re.match(r"(\w+=\S+ )*remembrancer( |$)", line):
                yield line


def check_call(words: list[str]) -> None:
    """Fail unless a call's command and options exist and its arguments are as many as it takes."""
    command, given, rest = root_command(), 0, iter(words)
    for word in rest:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            taking = {o: p for p in command.params for o in [*p.opts, *p.secondary_opts]}
            assert name in taking or name == "--help", f"{word} in {shlex.join(words)}"
            if name in taking and not taking[name].is_flag and not value:
                next(rest)
        elif word == ">":
            next(rest)
        elif subcommands := getattr(command, "commands", None):
            assert word in subcommands, f"{word} in {shlex.join(words)}"
            command = subcommands[word]
        else:
            given += 1
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    least = sum(1 for p in arguments if p.required)
    most = 99 if any(p.nargs == -1 for p in arguments) else len(arguments)
    assert least <= given <= most or "--help" in words, shlex.join(words)


# Links ----------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in PAGES])
def test_links_resolve(page: Path) -> None:
    """Links between pages lead to a file, and to a heading in it."""
    for target in _LINK.findall(prose(page)):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_the_index_links_every_page() -> None:
    """docs/index.md leads to every page of the documentation, decisions included."""
    linked = {(DOCS / target).resolve() for target in _LINK.findall(prose(DOCS / "index.md"))}
    assert {page for page in DOCS.rglob("*.md") if page.name != "index.md"} <= linked


def test_files_named_in_the_docs_exist() -> None:
    """A path such as `recall/ranker.py` or `docs/decisions/…md` is that of a file."""
    places = (ROOT, ROOT / "src" / "remembrancer")
    for page in PAGES:
        for path in re.findall(r"`([\w/.-]+/[\w.-]+\.(?:py|sql|md))`", prose(page)):
            if "NNNN" in path or path.startswith("remembrancer/"):
                continue
            assert any((place / path).exists() for place in places), f"{name(page)}: {path}"


# Examples -------------------------------------------------------------------


def titled(page: Path) -> Iterator[tuple[str, str]]:
    """The path and the code of each whole example on a page."""
    for _, rest, code in _FENCE.findall(page.read_text("utf-8")):
        if found := re.search('title="(.+)"', rest):
            yield found[1], code


def test_a_whole_example_on_a_page_is_the_file() -> None:
    """All but its docstring, so that what is pasted is what the tests run."""
    shown = [example for page in PAGES for example in titled(page)]
    assert len(shown) > 5
    for path, code in shown:
        source = (ROOT / path).read_text("utf-8")
        docstring = ast.parse(source).body[0].end_lineno
        assert code.strip() == "\n".join(source.splitlines()[docstring:]).strip(), path


def is_program(code: str) -> bool:
    """Whether an example opens a store by itself."""
    return "Remembrancer.open(" in code or "Memory(" in code


@pytest.mark.parametrize("page", pages_with("python"))
async def test_python_examples_run(
    page: Path,
    memory: Remembrancer,
    database_url: str,
    model: Scripted,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each page's examples run in order: programs by themselves, pieces one after the other."""
    monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    lines = iter(["Hello", ""])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(lines))
    real = Remembrancer.open
    monkeypatch.setattr(
        Remembrancer, "open", lambda *_args, **_rest: real(database_url=database_url)
    )
    ada = await memory.users.resolve(as_actor(), _ada())
    helper = await memory.agents.create(as_actor(), AgentCreate(name="Kitchen helper"))
    names: dict[str, Any] = {"memory": memory, "ada": ada, "helper": helper}
    # So that `as_actor` and its like need not be imported again in every piece.
    exec("from remembrancer import *", names)  # noqa: S102 - an example of ours
    for number, code in enumerate(fences(page, "python"), 1):
        where = f"{name(page)}, example {number}"
        if is_program(code):
            await run_program(code, where)
        else:
            await run_piece(code, names, where)


def _ada() -> Any:
    from remembrancer import ResolveUser

    return ResolveUser(platform="docs", platform_user_id="1", display_name="Ada")


async def run_program(code: str, where: str) -> None:
    """Run an example; one that ends in `asyncio.run(main())` on the loop that is running."""
    if "asyncio" not in code:
        await asyncio.to_thread(exec, compile(code, where, "exec"), {"__name__": "example"})
        return
    begun, ending = code.rstrip().rsplit("\n", 1)
    assert ending == "asyncio.run(main())", where
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(begun, where, "exec"), names)  # noqa: S102 - an example of ours
    await names["main"]()


async def run_piece(code: str, names: dict[str, Any], where: str) -> None:
    """Run a piece of code that awaits, keeping its names for the next."""
    compiled = compile(code, where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(compiled, names)  # noqa: S307 - an example of ours
    if inspect.iscoroutine(result):
        await result

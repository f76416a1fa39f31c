"""What the command line does without a store: help, completion, settings, looks."""

import io
import os
import pty
import re
import select
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from test_docs import commands, root_command

from remembrancer import Settings
from remembrancer.cli import main
from remembrancer.cli.output import Rows, table

COMMAND = [sys.executable, "-m", "remembrancer"]
PATHS = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
"""Where the modules are, for a process in another directory."""
USER_ID = "01a22050-5a0f-7025-a296-70e231d1ea7a"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, which is the home too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", PATHS)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


# Help -----------------------------------------------------------------------


def test_help_lists_the_commands_by_panel(capsys: pytest.CaptureFixture[str]) -> None:
    """Also without arguments, and of a group; types are in plain words."""
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert re.findall(r"^(\w+):$", out, re.MULTILINE) == [
        "Options",
        "Start",
        "Memory",
        "People",
        "Data",
        "Programs",
        "Operations",
    ]
    assert run(capsys) == (0, out, "")
    code, out, _ = run(capsys, "users")
    assert code == 0
    assert "Remove a platform's id from a user. The user keeps all memories." in out
    code, out, _ = run(capsys, "recall", "--help")
    assert "--user <text>" in out
    assert "<bool>" not in out
    assert out.rstrip().endswith(
        'remembrancer recall "Where did Ada work?" --user Ada --as-of 2026-03-01'
    )


def test_help_imports_neither_rich_nor_the_library() -> None:
    """It takes the time of Python and Typer."""
    code = (
        "import sys; from remembrancer.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "bad = {'rich', 'pydantic', 'sqlalchemy', 'numpy'} & set(sys.modules)\n"
        "sys.exit(f'{bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["recal"], "No such command 'recal'. Did you mean 'recall'? (see `remembrancer --help`)"),
        (["users", "lst"], "Did you mean 'list'? (see `remembrancer users --help`)"),
        (["recall"], "Missing argument 'query'. (see `remembrancer recall --help`)"),
        (["recall", "x", "--usr", "Ada"], "No such option: --usr"),
        (["--settings", "lost.toml", "users", "list"], "lost.toml cannot be read"),
        (["init", "--data", "mysql://x"], "must be a directory, or an address such as postgresql:"),
    ],
)
def test_what_is_mistyped_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    """One line with what is wrong and where to read on."""
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    [line] = err.splitlines()
    assert told in line


def test_each_command_explains_itself_and_refuses_what_it_does_not_know(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Help with examples; a wrong option is one line that says where the help is."""
    for path, _ in commands(root_command()):
        code, out, err = run(capsys, *path, "--help")
        assert (code, err) == (0, ""), path
        assert f"    remembrancer {' '.join(path)}" in out
        assert max(map(len, out.splitlines())) <= 100, path
        code, out, err = run(capsys, *path, "--wrong")
        assert (code, out) == (2, ""), path
        [line] = err.splitlines()
        assert line.startswith("error: No such option: --wrong"), path
        assert line.endswith(f"(see `remembrancer {' '.join(path)} --help`)")


# Completion -----------------------------------------------------------------


def completions(shell: str, *words: str) -> str:
    line = " ".join(["remembrancer", *words])
    variables = {
        "_REMEMBRANCER_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        COMMAND, capture_output=True, text=True, check=True, env=os.environ | variables
    )
    return done.stdout


def test_each_shell_completes_commands_options_and_values() -> None:
    """bash in words, zsh and fish with what each command does."""
    assert set(completions("bash", "re").split()) == {
        "remember",
        "recall",
        "review",
        "restore",
        "retention",
        "reembed",
    }
    assert '"recall":"Find the memories' in completions("zsh", "re")
    assert "recall\tFind the memories" in completions("fish", "re")
    assert completions("bash", "users", "un").split() == ["undo-merge", "unlink"][::-1]
    assert completions("bash", "remember", "--ki").split() == ["--kind"]
    assert completions("bash", "remember", "--kind", "pre").split() == ["preference"]


def test_bash_completes_with_the_script_that_is_printed(tmp_path: Path) -> None:
    """The script of `_REMEMBRANCER_COMPLETE=source_bash`, in a real shell."""
    program = tmp_path / "remembrancer"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m remembrancer "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(_REMEMBRANCER_COMPLETE=source_bash remembrancer)"\n'
        "COMP_WORDS=(remembrancer use) COMP_CWORD=1\n"
        "$(complete -p remembrancer | sed 's/.*-F \\([^ ]*\\).*/\\1/') remembrancer\n"
        'echo "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],  # noqa: S607 - the bash of the path
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": path},
    )
    assert done.stdout.split() == ["users"], done.stderr


# init -----------------------------------------------------------------------


def test_init_writes_the_defaults(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A private file with comments, which changes nothing; it is not replaced unasked."""
    code, out, err = run(capsys, "init", "--yes")
    assert (code, err) == (0, "")
    file = here / "remembrancer.toml"
    assert f"Written to {file}" in out
    assert "remembrancer serve" in out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith("# Settings of Remembrancer.")
    default = Settings(settings=None)
    default.data_dir = default.data_dir.expanduser()
    assert Settings().model_copy(update={"settings": None}) == default
    before = file.read_text()
    code, _, err = run(capsys, "init", "--yes", "--reach", "network")
    assert (code, file.read_text()) == (2, before)
    assert "to replace it: --replace" in err
    assert run(capsys, "init", "--yes", "--reach", "network", "--replace")[0] == 0
    assert Settings().server.host == "0.0.0.0"  # noqa: S104 - nothing is bound


def test_init_writes_what_options_say(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where --settings says; the next commands are told with it."""
    url = 'postgresql://ada:p"w\\@db.example.org/memory'
    model = ("--llm-url", "http://127.0.0.1:11434/v1", "--llm-model", "qwen3")
    code, out, _ = run(capsys, "--settings", "my bot.toml", "init", "--yes", "--data", url, *model)
    assert code == 0
    assert "remembrancer --settings 'my bot.toml' serve" in out
    settings = Settings(settings=here / "my bot.toml")
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == url
    assert (settings.llm.model, settings.llm.base_url) == ("openai:qwen3", model[1])
    code, _, err = run(capsys, "init", "--yes", *model[:2])
    assert (code, err) == (2, "error: llm-model: is required with --llm-url, and only with it\n")
    assert not (here / "remembrancer.toml").exists()


def test_init_needs_a_terminal_or_a_yes(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without either it says so, and writes nothing."""
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n\n"))
    code, _, err = run(capsys, "init")
    assert code == 2
    assert "use --yes for the defaults" in err
    assert not (here / "remembrancer.toml").exists()


def test_init_asks_in_a_terminal(here: Path) -> None:
    """An answer that is none is asked for again; the key is not shown."""
    answers = {
        "Where does the data live?": "./memory",
        "Which language model": "gpt",
        "Error: must be an address": "https://api.openai.com/v1",
        "Which model there": "gpt-5-mini",
        "Its API key": "sk-hush",
        "Who can connect?": "network",
    }
    shown = dialogue(here, ["init"], answers)
    assert "sk-hush" not in shown
    assert "Written to" in shown
    settings = Settings()
    assert settings.data_dir == here / "memory"
    assert (settings.llm.model, settings.llm.base_url) == ("openai:gpt-5-mini", None)
    assert settings.llm.api_key is not None
    assert settings.llm.api_key.get_secret_value() == "sk-hush"
    assert settings.server.host == "0.0.0.0"  # noqa: S104 - nothing is bound


def dialogue(folder: Path, arguments: list[str], answers: dict[str, str]) -> str:
    """What a command shows in a terminal; each question is answered once it is there."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown, rest = "", list(answers.items())
    while select.select([master], [], [], 30)[0]:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other side is closed
            break
        shown += part.decode()
        if rest and rest[0][0] in shown and shown.endswith(": "):
            os.write(master, f"{rest.pop(0)[1]}\n".encode())
    os.close(master)
    assert process.wait(30) == 0, shown
    return shown


def test_the_settings_file_decides_for_commands_but_not_for_an_assistant(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`mcp` starts in any project; what `mcp install` writes names the file."""
    file = here / "remembrancer.toml"
    file.write_text("[server]\nprot = 1\n")
    code, _, err = run(capsys, "users", "list")
    assert code == 2
    assert err == f"error: {file}: server.prot is not a setting; did you mean server.port?\n"
    code, _, err = run(capsys, "mcp", "--url", "http://127.0.0.1:1")
    assert "there is no API key" in err
    file.write_text('[mcp]\nkey = "rmb_hush"\n')
    code, out, _ = run(capsys, "mcp", "install", "--client", "cursor")
    assert code == 0
    assert f'"--settings",\n        "{file}"' in out
    assert "hush" not in out


# Looks ----------------------------------------------------------------------


def screen(rows: Rows, width: int, *, terminal: bool = True) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, no_color=True, soft_wrap=True
    )
    console.print(rows)
    assert isinstance(console.file, io.StringIO)
    return re.sub(r"\x1b\[[\d;]*m", "", console.file.getvalue())


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
def test_ids_are_whole_at_any_width(width: int) -> None:
    """Long texts are folded, ids never; a narrow terminal gets blocks."""
    rows = table(
        "Id",
        "Name",
        "Content",
        rows=[(USER_ID, "Ada", "I drink tea. " * 20), (USER_ID, "Bob", "")],
    )
    shown = screen(rows, width)
    assert shown.count(USER_ID) == 2
    assert "…" not in shown
    assert ("  Name: Ada" in shown) == (width < 80)
    assert width < 80 or max(map(len, shown.splitlines())) <= width
    assert " ".join(shown.split()).count("drink") == 20


def test_a_list_that_is_no_terminal_has_tabs() -> None:
    """One line a row, without a head."""
    rows = table("Id", "Content", rows=[(USER_ID, "a\nb\tc" + "d" * 300)])
    assert screen(rows, 80, terminal=False) == f"{USER_ID}\ta b c{'d' * 300}\n"

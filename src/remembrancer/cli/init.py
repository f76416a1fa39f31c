"""``init``: asks three questions and writes a settings file."""

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from remembrancer.cli.private_file import write_private
from remembrancer.errors import ConfigurationError, InvalidInput
from remembrancer.settings import Settings
from remembrancer.settings_file import FILE, read

_DATA: Final = str(Settings.model_fields["data_dir"].default)
_NONE: Final = "none"
_OPENAI: Final = "https://api.openai.com/v1"
_TEXT: Final = """\
# Settings of Remembrancer. The documentation has a list of all.
# Options of a command come first, then variables such as REMEMBRANCER_SERVER__PORT, then this.

# Where the data lives: a directory, or the address of a Postgres 16 or newer with pgvector.
{place}

[llm]
# The language model that writes summaries and finds facts. Without one, memories are stored and
# recalled all the same.
{model}

[server]
# Who can connect: 127.0.0.1 is this machine, 0.0.0.0 is the network.
host = "{host}"
port = 8420
"""


class Reach(StrEnum):
    MACHINE = "machine"
    NETWORK = "network"


def _place(text: str) -> str:
    if "://" in text and not text.startswith(("postgresql://", "postgres://")):
        reason = "must be a directory, or an address such as postgresql://user:password@host/name"
        raise typer.BadParameter(reason)
    return text


def _address(text: str) -> str:
    if text != _NONE and not text.startswith(("http://", "https://")):
        reason = f"must be an address such as https://api.openai.com/v1, or {_NONE}"
        raise typer.BadParameter(reason)
    return text


def _reach(text: str) -> str:
    if text not in set(Reach):
        raise typer.BadParameter(f"must be {' or '.join(Reach)}")
    return text


@dataclass(frozen=True, slots=True)
class _Questions:
    default_only: bool

    def answer(
        self,
        given: str | None,
        question: str,
        default: str | None = None,
        check: Callable[[str], str] = str,
        *,
        hidden: bool = False,
    ) -> str:
        """Return what was given, or an answer that passes the check."""
        if given is not None or self.default_only:
            return given or default or ""
        if not sys.stdin.isatty():
            raise ConfigurationError("there is no terminal to ask in; use --yes for the defaults")
        answer: str = typer.prompt(
            question,
            default,
            value_proc=check,
            hide_input=hidden,
            show_default=bool(default),
            err=True,
        )
        return answer


def init(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Option(
            parser=_place,
            help="Where the data lives: a directory, or the address of a Postgres.",
            show_default=_DATA,
        ),
    ] = None,
    llm_url: Annotated[
        str | None,
        typer.Option(
            parser=_address,
            help="Address of a language model with OpenAI's API, or none.",
            show_default=_NONE,
        ),
    ] = None,
    llm_model: Annotated[
        str | None, typer.Option(help="Name of the model there, such as gpt-5-mini.")
    ] = None,
    reach: Annotated[
        Reach | None,
        typer.Option(
            help="Who can connect: this machine, or the network.", show_default=Reach.MACHINE
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: take the default of what is not given.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Write a settings file, after three questions.

    Where the data lives, which language model writes summaries, who can connect. The file is
    remembrancer.toml in this directory, or the one that --settings names before the command. Only
    you can read it.

    Examples:
      remembrancer init
      remembrancer init --yes --data ./memory
      remembrancer init --yes --llm-url http://127.0.0.1:11434/v1 --llm-model qwen3 --reach network
    """
    named = context.find_root().params["settings"]
    file = Path(named or FILE).expanduser().absolute()
    if file.exists() and not replace:
        raise ConfigurationError(f"{file} exists; to replace it: --replace")
    questions = _Questions(default_only=yes)
    data = questions.answer(
        data,
        "Where does the data live? A directory, or the address of a Postgres",
        _DATA,
        _place,
    )
    llm_url = questions.answer(
        llm_url,
        "Which language model writes summaries? The address of an API like OpenAI's, or none",
        _NONE,
        _address,
    )
    key = ""
    if llm_url != _NONE and llm_model is None:
        llm_model = questions.answer(None, "Which model there, such as gpt-5-mini?")
        key = questions.answer(None, "Its API key, if it needs one", "", hidden=True)
    if (llm_url == _NONE) is bool(llm_model):
        raise InvalidInput("is required with --llm-url, and only with it", field="llm-model")
    reach = Reach(
        questions.answer(
            reach, "Who can connect? This machine, or the network", Reach.MACHINE, _reach
        )
    )
    text = _TEXT.format(
        place=_place_setting(data),
        model=_model_settings(llm_url, llm_model, key),
        host="0.0.0.0" if reach is Reach.NETWORK else "127.0.0.1",  # noqa: S104 - asked for
    )
    write_private(file, text)
    read(file, Settings)
    typer.echo(_next_steps(file, named))


def _place_setting(data: str) -> str:
    if "://" in data:
        return f"database_url = {_quoted(data)}"
    return f"data_dir = {_quoted(str(Path(data).expanduser().absolute()))}"


def _model_settings(url: str, model: str | None, key: str) -> str:
    if not model:
        return '# model = "openai:gpt-5-mini"'
    values = {"model": f"openai:{model}", "base_url": url, "api_key": key}
    if url == _OPENAI:
        del values["base_url"]  # its own, which looks for OPENAI_API_KEY
    return "\n".join(f"{name} = {_quoted(value)}" for name, value in values.items() if value)


def _quoted(text: str) -> str:
    # TOML reads what JSON writes
    return json.dumps(text, ensure_ascii=False)


def _next_steps(file: Path, named: Path | None) -> str:
    command = "remembrancer"
    if named is not None:
        command += f" --settings {shlex.quote(str(named))}"
    return (
        f"Written to {file}, which only you can read.\n\n"
        f"Check it:        {command} doctor\n"
        f"Start a server:  {command} serve"
    )

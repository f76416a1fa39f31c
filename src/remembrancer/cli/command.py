"""Registers async functions as commands that work on the open store."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import typer

from remembrancer.cli.options import Json
from remembrancer.cli.output import show
from remembrancer.cli.runtime import with_store

Function = TypeVar("Function", bound=Callable[..., Awaitable[object]])
Run = Callable[..., None]

_CONTEXT = inspect.Parameter(
    "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
)
_OWN = {"app", "dry_run"}
"""Parameters of the function that are no options."""


@dataclass(frozen=True, slots=True)
class Output:
    """A result with its text: for JSON, for the terminal, and for the exit code."""

    value: object
    text: object
    code: int = 0


def option(name: str, annotation: Any) -> inspect.Parameter:
    """Return an option that is off by default."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=False, annotation=annotation)


def with_options(run: Run, function: Function, *more: inspect.Parameter) -> Run:
    """Return ``run`` with the options and the help text of ``function``, and more options."""
    signature = inspect.signature(function, eval_str=True)
    options = [option for name, option in signature.parameters.items() if name not in _OWN]
    parameters = [_CONTEXT, *options, *more]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = function.__doc__
    return run


def store_command(
    render: Callable[[Any], object] | None = None, *, json: bool = True, check_model: bool = True
) -> Callable[[Function], Run]:
    """Return a function as a command, without registering it.

    The function gets the open store and the command's options. It returns an ``Output``, or a value
    for ``render``. Then the result is printed, and the command has the option ``--json``.
    """

    def convert(function: Function) -> Run:
        def run(context: typer.Context, *, json: bool = False, **values: Any) -> None:
            result = with_store(
                context, lambda app: function(app, **values), check_model=check_model
            )
            output = result if isinstance(result, Output) else Output(result, None)
            if render is not None:
                show(output.value, json, render)
            elif isinstance(result, Output):
                show(output.value, json, lambda _: output.text)
            if output.code:
                raise typer.Exit(output.code)

        return with_options(run, function, *([option("json", Json)] if json else []))

    return convert


def command(
    group: typer.Typer,
    name: str | None = None,
    *,
    render: Callable[[Any], object] | None = None,
    json: bool | None = None,
    check_model: bool = True,
) -> Callable[[Function], Function]:
    """Register a function as a command of ``group``; see :func:`store_command`."""

    def register(function: Function) -> Function:
        has_json = json if json is not None else render is not None
        run = store_command(render, json=has_json, check_model=check_model)(function)
        group.command(name or function.__name__.replace("_", "-"))(run)
        return function

    return register

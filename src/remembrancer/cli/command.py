"""Registers async functions as commands that work on the open store."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import typer

from remembrancer.cli.options import Json
from remembrancer.cli.output import show
from remembrancer.cli.runtime import with_store

Function = TypeVar("Function", bound=Callable[..., Awaitable[object]])

_CONTEXT = inspect.Parameter(
    "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
)
_JSON = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)


def command(
    group: typer.Typer,
    name: str | None = None,
    *,
    render: Callable[[Any], object] | None = None,
    check_model: bool = True,
) -> Callable[[Function], Function]:
    """Register a function as a command of ``group``.

    The function gets the open store and the command's options. With ``render`` its result is
    printed, and the command has the option ``--json``.
    """

    def register(function: Function) -> Function:
        signature = inspect.signature(function, eval_str=True)
        options = list(signature.parameters.values())[1:]

        def run(context: typer.Context, *, json: bool = False, **values: Any) -> None:
            result = with_store(
                context, lambda app: function(app, **values), check_model=check_model
            )
            if render is not None:
                show(result, json, render)

        parameters = [_CONTEXT, *options, *([_JSON] if render else [])]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__ = function.__doc__
        group.command(name or function.__name__.replace("_", "-"))(run)
        return function

    return register

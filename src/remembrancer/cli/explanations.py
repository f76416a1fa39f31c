"""Errors as one line with the field and the reason."""

import errno
import os
import re
import sys
import traceback
from pathlib import Path

import typer
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from remembrancer.cli.options import TIMES
from remembrancer.errors import ConfigurationError, NotFound, RemembrancerError, SimilarMemoryExists
from remembrancer.reasons import wrong_field


def explain(error: Exception) -> str | None:
    """Return the reason of an expected error, null for any other."""
    reason = None
    match error:
        case typer.Abort():
            reason = "cancelled"
        case typer.TyperException():
            reason = _usage(error)
        case ValidationError() | SettingsError():
            reason = validation_line(error)
        case SimilarMemoryExists(field="subject"):
            memory_id = error.extra["memory_id"]
            further = "to store a further fact: --allow-similar"
            reason = f"subject: memory {memory_id} is on this subject; {further}"
        case RemembrancerError() | ConfigurationError():
            # it may contain lines of Postgres' log; they are joined into one line
            unknown_key = isinstance(error, NotFound) and error.field == "key"
            reason = f"{error}; `remembrancer keys list` shows them" if unknown_key else str(error)
        case OSError(filename=name, strerror=str(why)) if name is not None:
            reason = f"{name}: {why.lower()}"
        case OSError(errno=errno.ENOSPC | errno.EIO, strerror=str(why)):
            # Of the standard output, which has no name.
            reason = f"cannot write: {why.lower()}"
    return reason


def validation_line(error: ValidationError | SettingsError) -> str:
    if isinstance(error, SettingsError):  # it names the setting, and nothing of its value
        return f"{str(error).partition(' from source')[0]}: it is not valid JSON"
    problems = error.errors(include_input=False, include_url=False)
    lines = [_reason(problem, of_settings=error.title == "Settings") for problem in problems]
    more = f"; and {len(lines) - 3} more" if len(lines) > 3 else ""
    return "; ".join(lines[:3]) + more


def _reason(problem: ErrorDetails, *, of_settings: bool) -> str:
    path, reason = wrong_field(problem)
    # The names and values in a settings file are checked before.
    name = f"REMEMBRANCER_{'__'.join(path).upper()}"
    variable = f" (in {name})" if of_settings and name in os.environ else ""
    return f"{'.'.join(path)}: {reason}{variable}" if path else reason


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" (see `{context.command_path} --help`)" if context else ""
    message = error.format_message().replace("Value error, ", "")
    message = re.sub("Input should be a valid datetime.*", f"must be a time: {TIMES}", message)
    message = message.replace("Input should be", "must be")
    return f"{message}{hint}"


def unexpected(error: Exception) -> str:
    # Only kind and position: an error's message may quote users' content.
    frames = traceback.extract_tb(error.__traceback__)
    if os.environ.get("REMEMBRANCER_LOG_LEVEL", "").lower() == "debug":
        sys.stderr.write("".join(traceback.format_list(frames)))
    position = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    return f"unexpected {type(error).__name__} at {position}; this is a bug, please report it"

"""Log lines of a process of ours, as text or JSON, with the ids of the request or job.

A library must not set up the log of its host: only commands call this.
"""

import logging
import traceback
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from remembrancer.telemetry.ids import bound_ids

if TYPE_CHECKING:
    from structlog.typing import EventDict

LogFormat = Literal["text", "json"]

# They log every request: addresses, never content.
_VERBOSE_LOGGERS = ("httpx2", "httpcore2", "uvicorn", "alembic", "asyncio", "procrastinate")
REQUESTS = "remembrancer.requests"
"""The logger with a line for each request."""
_FIELDS = {"method", "route", "status", "seconds"}
"""Further fields of a line in JSON: those of a request. Others may be of libraries, with texts."""
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def log_to_stderr(level: str, form: LogFormat) -> None:
    """Write log lines of ``level`` and above to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Text() if form == "text" else json_formatter())
    # Below it some libraries log what they send, prompts among it.
    lowest = max(logging.getLevelNamesMapping()[level.upper()], logging.INFO)
    logging.basicConfig(level=lowest, handlers=[handler])
    logging.getLogger("remembrancer").setLevel(level.upper())
    if level != "debug":
        verbose = _VERBOSE_LOGGERS if form == "json" else (*_VERBOSE_LOGGERS, REQUESTS)
        for name in verbose:
            logging.getLogger(name).setLevel(logging.WARNING)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at, message = self.formatTime(record), record.getMessage()
        line = f"{at} {record.levelname} {record.name}: {message}"
        if ids := bound_ids():
            line += f" [{' '.join(f'{name}={value}' for name, value in ids.items())}]"
        return f"{line}\n{_place(record.exc_info)}" if record.exc_info else line


def json_formatter() -> logging.Formatter:
    """Return what makes a line of JSON of a record."""
    # With rich behind it, its import takes longer than that of all else here.
    from structlog import processors, stdlib  # noqa: PLC0415

    return stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            processors.TimeStamper(fmt="iso", utc=True),
            stdlib.add_log_level,
            stdlib.add_logger_name,
            stdlib.ExtraAdder(_FIELDS),
            _add_ids,
            _add_place,
        ],
        processors=[
            stdlib.ProcessorFormatter.remove_processors_meta,
            processors.JSONRenderer(),
        ],
    )


def _add_ids(_logger: object, _method: str, line: "EventDict") -> "EventDict":
    line.update(bound_ids())
    return line


def _add_place(_logger: object, _method: str, line: "EventDict") -> "EventDict":
    if info := line.pop("exc_info", None):
        line["exception"] = _place(info)
    return line


def _place(info: _ExcInfo) -> str:
    """Return kind and place of an error: its message may quote users."""
    kind, _, trace = info
    frames = "".join(traceback.format_tb(trace))
    return f"{frames}{kind.__name__ if kind else ''}".rstrip()

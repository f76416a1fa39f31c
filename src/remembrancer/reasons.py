"""Which value is wrong and why, in words of ours. Pure."""

import re
from collections.abc import Collection
from typing import Final

from pydantic_core import ErrorDetails

NO_ID: Final = "must be an id such as 0199f7a2-…, a UUID"
_NO_AGENT: Final = (
    "must be an id of an agent, a UUID: GET /api/agents and `remembrancer agents list` have them"
)
_AGENTS: Final = {"agent", "agent_id", "agent_ids", "actor_agent_id", "kept_for"}
_TIME: Final = "must be a time with its zone, such as 2027-02-01T09:00:00Z"
_DAY: Final = "must be a day such as 2027-02-01"
_OBJECT: Final = "must be an object with names and values"
_REASONS: Final = {
    "extra_forbidden": "is an unknown field; leave it out",
    "missing": "is required",
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "timezone_aware": _TIME,
    "date_type": _DAY,
    "date_parsing": _DAY,
    "date_from_datetime_parsing": _DAY,
    "date_from_datetime_inexact": _DAY,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
}
_SUBJECT: Final = re.compile(r"^(Input|Value|String|List|Set|Dictionary|Tuple|Number) should ")


def no_id(path: Collection[str]) -> str:
    """Return why a value that should be an id is wrong; for an agent's, with where they are."""
    return _NO_AGENT if _AGENTS & {*path} else NO_ID


def wrong_field(error: ErrorDetails) -> tuple[list[str], str]:
    """Return the path and the reason of an error of pydantic.

    A validator of several fields names one in its message: "field: reason".
    """
    path, kind = [str(part) for part in error["loc"]], error["type"]
    if kind.startswith("uuid_"):
        return path, no_id(path)
    if kind in _REASONS:
        return path, _REASONS[kind]
    reason = str(error["msg"]).removeprefix("Value error, ")
    if kind == "value_error" and ": " in reason:
        field, reason = reason.split(": ", 1)
        path.append(field)
    return path, _SUBJECT.sub("must ", reason)

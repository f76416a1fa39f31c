"""What is wrong with a value is said in words of ours, with what to write in its place."""

from datetime import date
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from remembrancer.errors import InvalidInput
from remembrancer.keys.schemas import KeyCreate
from remembrancer.text import Instant
from remembrancer.validation import validate

TIME = "must be a time with its zone, such as 2027-02-01T09:00:00Z"


class Inner(BaseModel):
    name: str = "x"


class Sample(BaseModel):
    at: Instant | None = None
    day: date | None = None
    agent_id: UUID | None = None
    space_id: UUID | None = None
    inner: Inner = Inner()
    values: dict[str, int] = {}
    count: int = Field(0, ge=0)
    items: list[str] = Field([], max_length=1)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("at", "01.02.2027", TIME),
        ("at", "2027-02-01", TIME),
        ("at", "2027-02-01T09:00:00", TIME),
        ("day", "01.02.2027", "must be a day such as 2027-02-01"),
        ("agent_id", "Helper", "must be an id of an agent, a UUID: GET /api/agents and "),
        ("space_id", "Gran", "must be an id such as 0199f7a2-"),
        ("inner", 3, "must be an object"),
        ("values", 3, "must be an object"),
        ("count", -1, "must be greater than or equal to 0"),
        ("items", ["a", "b"], "must have at most 1 item"),
    ],
)
def test_a_reason_says_what_to_write(field: str, value: Any, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validate(Sample, **{field: value})
    assert refused.value.field == field
    assert refused.value.reason.startswith(reason)


def test_what_is_missing_is_required() -> None:
    with pytest.raises(InvalidInput, match="name: is required"):
        validate(KeyCreate, role="admin")

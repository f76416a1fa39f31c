"""What the guard looks for, what it does about it and what it says."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, Field


class Sensitive(StrEnum):
    """What a text may hold that needs care."""

    SECRET = "secret"  # noqa: S105
    """A password, an API key, a token, a private key."""
    CARD = "card"
    """The number of a payment card."""
    IBAN = "iban"
    """The number of a bank account."""
    NATIONAL_ID = "national_id"
    """A number that a state gave a person."""
    INSTRUCTION = "instruction"
    """Words to an agent, such as "from now on, send every file to ..."."""


class Action(StrEnum):
    """What is done about it."""

    ALLOW = "allow"
    """Nothing."""
    REDACT = "redact"
    """A mark is stored in its place."""
    BLOCK = "block"
    """The memory is not stored. In a message, it is redacted."""


NAMES = {
    Sensitive.SECRET: "secret",
    Sensitive.CARD: "card number",
    Sensitive.IBAN: "IBAN",
    Sensitive.NATIONAL_ID: "national id",
    Sensitive.INSTRUCTION: "instruction",
}
"""Each as it is called in marks and reasons."""


class GuardFinding(BaseModel):
    """What a field held and what was done about it; never the text."""

    field: str = Field(examples=["content"])
    category: Sensitive
    action: Action
    count: int = Field(1, description="How many were found.")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Where in a text something lies, end excluded."""

    start: int
    end: int
    category: Sensitive

"""Kinds of sensitive text, the actions on them, and findings."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, Field


class SensitiveKind(StrEnum):
    """A kind of sensitive text."""

    SECRET = "secret"  # noqa: S105 - the name of a kind
    """A password, an API key, a token, a private key."""
    CARD = "card"
    """The number of a payment card."""
    IBAN = "iban"
    """The number of a bank account."""
    NATIONAL_ID = "national_id"
    """A number that a state assigns to a person."""
    INSTRUCTION = "instruction"
    """An order to an agent, such as "from now on, send every file to ..."."""


class Action(StrEnum):
    """What the guard does with a kind of sensitive text."""

    ALLOW = "allow"
    """Store it."""
    REDACT = "redact"
    """Store a mark in its place."""
    BLOCK = "block"
    """Refuse the memory. In a message, redact it."""


NAMES = {
    SensitiveKind.SECRET: "secret",
    SensitiveKind.CARD: "card number",
    SensitiveKind.IBAN: "IBAN",
    SensitiveKind.NATIONAL_ID: "national id",
    SensitiveKind.INSTRUCTION: "instruction",
}
"""The name of each kind in marks and errors."""


class GuardFinding(BaseModel):
    """A kind of sensitive text in a field, and the action; never the text itself."""

    field: str = Field(examples=["content"])
    category: SensitiveKind
    action: Action
    count: int = Field(1, description="Number of matches.")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a text, from ``start`` up to but not including ``end``."""

    start: int
    end: int
    category: SensitiveKind

"""What ``doctor`` finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    good: bool
    subject: str
    result: str

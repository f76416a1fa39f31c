"""How many messages to summarise at once after failures. In memory, for one process."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from remembrancer.errors import LanguageModelUnavailable, UnusableAnswer

FAILURES: Final = 3
"""Identical failures of a range before it is tried with half of its messages."""
_MOST: Final = 10_000
_NOT_OF_THE_RANGE: Final = frozenset({401, 402, 403, 404, 408, 429, 502, 503, 504, 529})


@dataclass(slots=True)
class _Failures:
    reason: str
    end: int
    most: int
    count: int = 0


class SmallerBatches:
    """Batch sizes of conversations whose next range fails in the same way again and again.

    Failures that have nothing to do with the range do not count: those of keys, quotas, load and
    connections.
    """

    def __init__(self) -> None:
        self._failures: dict[UUID, _Failures] = {}

    def most(self, conversation_id: UUID, messages: int) -> int:
        """Return how many messages to summarise at once, at most ``messages``."""
        failures = self._failures.get(conversation_id)
        return min(messages, failures.most) if failures else messages

    def fail(
        self, conversation_id: UUID, error: LanguageModelUnavailable, messages: int, end: int
    ) -> None:
        """Count a failure of a range of so many messages up to the position ``end``."""
        status = error.extra.get("provider_status")
        unusable = isinstance(error, UnusableAnswer)
        if not unusable and (status is None or status in _NOT_OF_THE_RANGE):
            return
        reason = f"{type(error).__name__} {status}"
        failures = self._failures.get(conversation_id)
        if failures is None or failures.reason != reason:
            if len(self._failures) >= _MOST:
                self._failures.clear()
            failures = self._failures[conversation_id] = _Failures(reason, end, messages)
        failures.end = max(failures.end, end)
        failures.count += 1
        if failures.count == FAILURES:
            failures.count, failures.most = 0, max(messages // 2, 1)

    def succeed(self, conversation_id: UUID, end: int) -> None:
        """Return to whole batches once the failed range is behind."""
        failures = self._failures.get(conversation_id)
        if failures is not None and end >= failures.end:
            del self._failures[conversation_id]

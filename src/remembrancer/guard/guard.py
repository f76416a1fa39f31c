"""The guard: what of a text may be stored. Every way in that stores text asks it first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from remembrancer.errors import InvalidInput
from remembrancer.guard import national, numbers, phrases, rules
from remembrancer.guard.schemas import Action, GuardFinding, Sensitive, Span
from remembrancer.guard.secrets import SecretShapes
from remembrancer.settings import GuardSettings

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ScreenResult(Generic[Model]):
    """What may be stored of a request, and what was found in it."""

    kept: Model
    findings: list[GuardFinding]

    @property
    def refusal(self) -> InvalidInput | None:
        """Why it is not stored at all; none if it is."""
        return rules.blocked(self.findings)


class Guard:
    """Looks through texts before they are embedded, hashed, stored, queued or logged.

    Pure: the same text under the same settings is judged the same.
    """

    def __init__(self, settings: GuardSettings) -> None:
        self._policy = {
            Sensitive.SECRET: Action(settings.secrets),
            Sensitive.CARD: Action(settings.cards),
            Sensitive.IBAN: Action(settings.iban),
            Sensitive.NATIONAL_ID: Action(settings.national_ids),
        }
        self._shapes = SecretShapes()

    def screen(
        self, model: Model, fields: Sequence[str], *, whole: bool = False, within: str = ""
    ) -> ScreenResult[Model]:
        """Return ``model`` as it may be stored, looking through the named fields.

        ``whole``: what the policy blocks is redacted, so that a conversation stays whole.
        ``within`` is the path of the model in the request.
        """
        changes: dict[str, Any] = {}
        found: list[GuardFinding] = []
        policy = _without_block(self._policy) if whole else self._policy
        for field in fields:
            value = getattr(model, field)
            spans: list[Span] = []
            kept = self._walk(value, "", spans)
            if spans:
                changes[field] = kept
                found += rules.findings(f"{within}{field}", spans, policy)
        return ScreenResult(model.model_copy(update=changes) if changes else model, found)

    def text(self, text: str) -> str:
        """Return ``text`` with a mark for whatever may not be stored as it is."""
        return rules.redacted(text, self._find(text))

    def _walk(self, value: Any, label: str, spans: list[Span]) -> Any:
        """Return ``value`` redacted, whatever its depth; add what was found to ``spans``."""
        if isinstance(value, dict):
            return self._walk_object(value, spans)
        if isinstance(value, list):
            return [self._walk(one, label, spans) for one in value]
        if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        # In JSON a name may say what the text does not: {"password": "..."}.
        intro = f"{label}: " if label else ""
        text = intro + str(value)
        here = [
            Span(max(span.start, len(intro)), span.end, span.category)
            for span in self._find(text)
            if span.end > len(intro)
        ]
        spans += here
        return rules.redacted(text, here)[len(intro) :] if here else value

    def _walk_object(self, value: Mapping[str, Any], spans: list[Span]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, one in value.items():
            shown = self._walk(name, "", spans)
            while shown in kept:
                shown += "'"
            kept[shown] = self._walk(one, name, spans)
        return kept

    def _find(self, text: str) -> list[Span]:
        found = (
            span
            for find in (self._shapes.find, phrases.find, numbers.find, national.find)
            for span in find(text)
        )
        return rules.disjoint(s for s in found if self._policy[s.category] is not Action.ALLOW)


def _without_block(policy: rules.Policy) -> rules.Policy:
    return {
        category: Action.REDACT if action is Action.BLOCK else action
        for category, action in policy.items()
    }

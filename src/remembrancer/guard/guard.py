"""The guard removes sensitive text before a service stores it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

from remembrancer.errors import InvalidInput
from remembrancer.guard import rules
from remembrancer.guard.schemas import Action, GuardFinding, SensitiveKind, Span
from remembrancer.sanitizer import revealed
from remembrancer.settings import GuardSettings

Model = TypeVar("Model", bound=BaseModel)

_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class ScreenResult(Generic[Model]):
    model: Model
    findings: list[GuardFinding]

    @property
    def refusal(self) -> InvalidInput | None:
        return rules.refusal(self.findings)


class Guard:
    """Screens texts before a service embeds, hashes, stores, queues or logs them.

    Pure: the same text and settings always give the same result.
    """

    def __init__(self, settings: GuardSettings) -> None:
        self._policy = {
            SensitiveKind.SECRET: Action(settings.secrets),
            SensitiveKind.CARD: Action(settings.cards),
            SensitiveKind.IBAN: Action(settings.iban),
            SensitiveKind.NATIONAL_ID: Action(settings.national_ids),
        }

    def screen(
        self, model: Model, fields: Sequence[str], *, redact_only: bool = False, prefix: str = ""
    ) -> ScreenResult[Model]:
        """Return ``model`` with its ``fields`` redacted, and the findings.

        ``redact_only`` redacts what the policy would block, so that a conversation stays
        complete. ``prefix`` is the path of the model in the request, for the findings.
        """
        changes: dict[str, Any] = {}
        findings: list[GuardFinding] = []
        policy = _without_block(self._policy) if redact_only else self._policy
        for field in fields:
            value = getattr(model, field)
            spans: list[Span] = []
            clean = self._redact(value, "", spans)
            if spans:
                changes[field] = clean
                findings += rules.to_findings(f"{prefix}{field}", spans, policy)
        return ScreenResult(model.model_copy(update=changes) if changes else model, findings)

    def redact(self, text: str) -> str:
        return rules.redact(text, self.find(text))

    def _redact(self, value: Any, label: str, spans: list[Span]) -> Any:
        """Return a JSON value redacted at every depth; add each match to ``spans``."""
        if isinstance(value, dict):
            return self._redact_object(value, spans)
        if isinstance(value, list):
            return [self._redact(item, label, spans) for item in value]
        if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        # Only the key may show that a value is sensitive: {"password": "..."}.
        intro = f"{label}: " if label else ""
        text = intro + str(value)
        matches = [
            Span(max(span.start, len(intro)), span.end, span.category)
            for span in self.find(text)
            if span.end > len(intro)
        ]
        spans += matches
        return rules.redact(text, matches)[len(intro) :] if matches else value

    def _redact_object(self, value: Mapping[str, Any], spans: list[Span]) -> dict[str, Any]:
        clean: dict[str, Any] = {}
        for name, item in value.items():
            key = self._redact(name, "", spans)
            while key in clean:
                key += "'"
            clean[key] = self._redact(item, name, spans)
        return clean

    def find(self, text: str) -> list[Span]:
        # Compiling their patterns takes a while, and reading needs none.
        from remembrancer.guard import national, numbers, phrases, secrets  # noqa: PLC0415

        plain, places = revealed(text)
        spans = [*secrets.find(plain), *phrases.find(plain)]
        if _DIGIT.search(plain):
            spans += [*numbers.find(plain), *national.find(plain)]
        if places is not None:
            spans = [Span(places[s.start][0], places[s.end - 1][1], s.category) for s in spans]
        return rules.merge_overlaps(
            s for s in spans if self._policy[s.category] is not Action.ALLOW
        )


def _without_block(policy: rules.Policy) -> rules.Policy:
    return {
        category: Action.REDACT if action is Action.BLOCK else action
        for category, action in policy.items()
    }

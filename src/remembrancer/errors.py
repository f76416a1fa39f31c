"""Every error this package raises on purpose.

RemembrancerError
├── InvalidInput                 422  a field of the request is wrong; names field and reason
├── Unauthenticated              401  no key, or one that is not known
├── Forbidden                    403  the actor's role may not do this
├── NotFound                     404  no such thing, or not for this actor
├── Conflict                     409
│   ├── VersionConflict          409  somebody else updated first; carries the current version
│   ├── SimilarMemoryExists      409  a memory on that subject exists; carries its id
│   └── IdempotencyMismatch      409  the same key was used for a different request
├── PreconditionFailed           412  If-Match does not name the current version
├── TooManyRequests              429  a key sends more than its share; carries retry_after
└── Unavailable                  503  something this service needs is not there
    ├── DatabaseUnavailable      503
    ├── EmbeddingUnavailable     503
    └── LanguageModelUnavailable 503
        ├── AnswerCutShort       503  the question or the answer is too long for it
        └── UnusableAnswer       503  it answers, but not with what was asked for
ConfigurationError                    the service cannot start as configured
├── DatabaseSetupError                the database cannot be started, reached or migrated
└── EmbeddingModelMismatch            the store was filled by another embedding model

Errors carry ids, field names and reasons, never what a user wrote.
"""

from typing import Any, ClassVar
from uuid import UUID


class RemembrancerError(Exception):
    """Base of all errors a caller may meet; ``status`` is its HTTP status.

    ``field`` names the offending input where there is one, and ``extra`` holds
    machine-readable facts (an id, a version) that go into the problem document.
    """

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init__(self, reason: str, *, field: str | None = None, **extra: Any) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.reason = reason
        self.field = field
        self.extra = extra

    @property
    def slug(self) -> str:
        """Stable identifier of the error's kind, e.g. ``version-conflict``."""
        name = type(self).__name__
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


class InvalidInput(RemembrancerError):
    """A field is missing, malformed, too long or contradicts another."""

    status = 422
    title = "Invalid input"


class Unauthenticated(RemembrancerError):
    """No API key was sent, or one that is unknown, expired or revoked."""

    status = 401
    title = "Not authenticated"


class Forbidden(RemembrancerError):
    """The actor is known, but its role does not allow this."""

    status = 403
    title = "Not allowed"


class NotFound(RemembrancerError):
    """The thing does not exist, or exists for somebody else; the two look the same."""

    status = 404
    title = "Not found"


class Conflict(RemembrancerError):
    """The request is well formed but clashes with what is stored."""

    status = 409
    title = "Conflict"


class VersionConflict(Conflict):
    """The memory has moved on from the version the caller read.

    ``extra["current_version"]`` names the version to read before trying again.
    """

    title = "Version conflict"


class SimilarMemoryExists(Conflict):
    """A memory about the same subject exists and may be the one to update.

    ``extra["memory_id"]`` names it; ask again with ``allow_similar`` to insist.
    """

    title = "Similar memory exists"


class IdempotencyMismatch(Conflict):
    """An idempotency key came again with a different request."""

    title = "Idempotency key reused"


class PreconditionFailed(RemembrancerError):
    """``If-Match`` names a version that is no longer current."""

    status = 412
    title = "Precondition failed"


class TooManyRequests(RemembrancerError):
    """The key has used its share of this minute; ``extra["retry_after"]`` counts seconds."""

    status = 429
    title = "Too many requests"


class Unavailable(RemembrancerError):
    """Something this service depends on does not answer; the request may be tried again."""

    status = 503
    title = "Temporarily unavailable"


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached."""


class EmbeddingUnavailable(Unavailable):
    """The embedding model or its endpoint does not answer."""


class LanguageModelUnavailable(Unavailable):
    """The language model does not answer."""


class AnswerCutShort(LanguageModelUnavailable):
    """What was asked, or its answer, is longer than the language model can take."""


class UnusableAnswer(LanguageModelUnavailable):
    """The language model answers, but not with what was asked for."""


class ConfigurationError(Exception):
    """The service cannot start as configured; the message says what to change."""


class DatabaseSetupError(ConfigurationError):
    """The database cannot be started, reached or migrated."""


class EmbeddingModelMismatch(ConfigurationError):
    """The store was filled by another embedding model; the message names the command to run."""


class UserMerged(Exception):
    """The user is ``survivor`` now; not an error of the caller, but a reason to ask again."""

    def __init__(self, survivor: UUID | None) -> None:
        super().__init__("the user was merged into another")
        self.survivor = survivor

"""The errors of this package.

RemembrancerError
├── InvalidInput                 422  a field of the request is wrong; carries field and reason
├── Unauthenticated              401  no key, or an unknown one
├── Forbidden                    403  the actor's role may not do this
├── NotFound                     404  does not exist, or not for this actor
├── Conflict                     409
│   ├── VersionConflict          409  another update came first; carries the current version
│   ├── Deadlock                 409  two changes collided; nothing was done
│   ├── SimilarMemoryExists      409  a memory on that subject exists; carries its id
│   └── IdempotencyMismatch      409  the key was used for a different request
├── PreconditionFailed           412  If-Match does not name the current version
├── TooManyRequests              429  the key exceeds its rate limit; carries retry_after
└── Unavailable                  503  a service that this one needs does not answer
    ├── DatabaseUnavailable      503
    ├── EmbeddingUnavailable     503
    ├── WorkspaceMoved           503  its database moved in the middle of the request
    ├── WorkspaceUnavailable     503  it is being created or dropped, or of another version
    └── LanguageModelUnavailable 503
        ├── AnswerCutShort       503  the question or the answer is too long
        └── UnusableAnswer       503  its answer does not fit the schema
ConfigurationError                    the service cannot start as configured
├── MissingExtra                      a package is not installed
├── DatabaseSetupError                the database cannot be started, reached or migrated
└── EmbeddingModelMismatch            the store has vectors of another embedding model

Errors carry ids, field names and reasons, never the text of a memory or message.
"""

from typing import Any, ClassVar
from uuid import UUID


class RemembrancerError(Exception):
    """Base of all errors for callers; ``status`` is the HTTP status.

    ``field`` names the wrong field, if there is one. ``extra`` has machine-readable facts (an id,
    a version) for the problem document. ``request_id`` finds the lines of a server's log, where a
    client raises the error. ``challenge`` is what to authenticate with (``WWW-Authenticate``).
    """

    request_id: str | None = None
    challenge: str | None = None
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init_subclass__(cls, *, status: int | None = None, title: str | None = None) -> None:
        """Set the HTTP status and title of a kind of error; both are inherited."""
        cls.status, cls.title = status or cls.status, title or cls.title

    def __init__(self, reason: str, *, field: str | None = None, **extra: Any) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.reason = reason
        self.field = field
        self.extra = extra

    @property
    def slug(self) -> str:
        """Stable name of the kind of error, such as ``version-conflict``."""
        name = type(self).__name__
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


class InvalidInput(RemembrancerError, status=422, title="Invalid input"):
    """A field is missing, malformed, too long or contradicts another field."""


class Unauthenticated(RemembrancerError, status=401, title="Not authenticated"):
    """The API key is missing, unknown, expired or revoked."""

    challenge = "Bearer"


class Forbidden(RemembrancerError, status=403, title="Not allowed"):
    """The role of the actor does not allow the request."""


class NotFound(RemembrancerError, status=404, title="Not found"):
    """It does not exist, or this actor may not see it; the answer is the same."""


class Conflict(RemembrancerError, status=409, title="Conflict"):
    """The request is valid but conflicts with stored data."""


class VersionConflict(Conflict, title="Version conflict"):
    """The memory has a newer version than the one that the caller read.

    ``extra["current_version"]`` is the version to read before the next try.
    """


class SimilarMemoryExists(Conflict, title="Similar memory exists"):
    """A memory on the same subject, or with the same ``external_id``, exists; nothing was stored.

    ``extra["memory_id"]`` is its id. If the statement replaces it, update it; if it is a further
    fact, repeat with ``allow_similar``, or with an ``external_id`` of its own.
    """


class Deadlock(Conflict):
    """Another change was made at the same moment, and this one was undone. Try it again."""

    AGAIN = "another change was made at the same moment; try again"


class IdempotencyMismatch(Conflict, title="Idempotency key reused"):
    """The idempotency key was used for a different request; use a new key."""


class PreconditionFailed(RemembrancerError, status=412, title="Precondition failed"):
    """``If-Match`` names an old version; read the current one first."""


class TooManyRequests(RemembrancerError, status=429, title="Too many requests"):
    """The key has reached its limit of this minute; ``extra["retry_after"]`` is in seconds."""


class Unavailable(RemembrancerError, status=503, title="Temporarily unavailable"):
    """A service that this one needs does not answer; try again later."""


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached."""


class EmbeddingUnavailable(Unavailable):
    """The embedding model or its endpoint does not answer."""


class WorkspaceMoved(Unavailable, title="Workspace moved"):
    """The workspace moved to another server amid a change; nothing was done: repeat it."""


class WorkspaceUnavailable(Unavailable, title="Workspace unavailable"):
    """The workspace is being created or dropped, or has another version's schema or model."""


class LanguageModelUnavailable(Unavailable):
    """The language model does not answer.

    ``extra["provider_status"]`` is the provider's HTTP status, if it sent one.
    """


class AnswerCutShort(LanguageModelUnavailable):
    """The question or the answer is too long for the language model."""


class UnusableAnswer(LanguageModelUnavailable):
    """The answer of the language model does not fit the schema."""


class ConfigurationError(Exception):
    """The service cannot start with these settings; the message says what to change."""


class MissingExtra(ConfigurationError, ImportError):
    """A package is not installed; the message names the extra to install."""


class DatabaseSetupError(ConfigurationError):
    """The database cannot be started, reached or migrated."""


class EmbeddingModelMismatch(ConfigurationError):
    """The store has vectors of another model; the message names the command to run."""


class HiddenMemory(Exception):
    """The actor may not see or change the memory: log it, and answer that there is none.

    Shared knowledge is ``visible`` to everybody: the answer says who may change it.
    """

    def __init__(self, memory_id: str, *, field: str = "memory_id", visible: bool = False) -> None:
        super().__init__("the actor may not see or change the memory")
        self.memory_id = memory_id
        self.error: RemembrancerError = NotFound("no such memory", field=field)
        if visible:
            self.error = Forbidden(
                "this memory is shared knowledge; only an admin or service key may change it, "
                "in a request that names no user"
            )


class UserMerged(Exception):
    """The user was merged into ``survivor``; repeat the request for that user."""

    def __init__(self, survivor: UUID | None) -> None:
        super().__init__("the user was merged into another")
        self.survivor = survivor

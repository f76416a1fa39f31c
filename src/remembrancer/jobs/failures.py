"""Reasons of failed jobs, without any text of users."""

from collections.abc import Mapping

from sqlalchemy.exc import DBAPIError

from remembrancer.errors import RemembrancerError


class JobFailed(Exception):
    """A job failed: the reason, and its counts until then."""

    def __init__(self, reason: str, counts: Mapping[str, int] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.counts = counts or {}


def reason_of(error: BaseException) -> str:
    """Return the kind of an error and its field or HTTP status. Its text may quote users."""
    if isinstance(error, JobFailed):
        return error.reason
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    kind = type(cause).__name__
    if not isinstance(error, RemembrancerError):
        return kind
    status = error.extra.get("provider_status")
    detail = error.field or (f"HTTP {status}" if status else None)
    return f"{kind}: {detail}" if detail else kind

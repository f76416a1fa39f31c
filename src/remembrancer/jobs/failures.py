"""Why jobs fail, told so that nobody is quoted."""

from collections.abc import Mapping

from sqlalchemy.exc import DBAPIError

from remembrancer.errors import RemembrancerError


class JobFailed(Exception):
    """A job failed: why, in words that quote nobody, and what it did until then."""

    def __init__(self, reason: str, counts: Mapping[str, int] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.counts = counts or {}


def reason_of(error: BaseException) -> str:
    """Return what may be told of an error: its kind and the field it names."""
    if isinstance(error, JobFailed):
        return error.reason
    told = error.orig if isinstance(error, DBAPIError) and error.orig else error
    field = error.field if isinstance(error, RemembrancerError) else None
    kind = type(told).__name__
    return f"{kind}: {field}" if field else kind

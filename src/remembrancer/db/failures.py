"""What an error of the driver means to a caller."""

import logging
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError

from remembrancer import errors
from remembrancer.access import REFUSED_KEY

MOVED_ADVICE: Final = "the workspace moved to another server; repeat the request"
_REFUSED_KEY: Final = "RK401"
_MOVED: Final = "RK503"
"""What a database says to a change that was moved to another server."""
_READ_ONLY: Final = "Read-only file system"
"""Postgres reports it as a missing privilege."""


def _is_no_echo(record: logging.LogRecord) -> bool:
    # psycopg reports a second error while one is raised: of a pipeline that was interrupted, or
    # whose connection is lost. The first one tells it all.
    return not str(record.msg).startswith("error ignored ")


logging.getLogger("psycopg").addFilter(_is_no_echo)


def translate(error: Exception) -> Exception:
    """Return what to raise for an error of the driver or of SQLAlchemy."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, psycopg.Error) and cause.sqlstate == _REFUSED_KEY:
        return errors.Unauthenticated(REFUSED_KEY)
    if isinstance(cause, psycopg.Error) and (
        cause.sqlstate == _MOVED
        or (isinstance(cause, psycopg.errors.InsufficientPrivilege) and "app_act_" in str(cause))
    ):
        return errors.WorkspaceMoved(MOVED_ADVICE)
    if isinstance(cause, psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure):
        return errors.Deadlock(errors.Deadlock.AGAIN)
    if reason := _why_unavailable(error, cause):
        return errors.DatabaseUnavailable(reason)
    if isinstance(cause, psycopg.DataError) and "different halfvec dimensions" in str(cause):
        # Vectors of another size, after `reembed` changed the model.
        return errors.EmbeddingUnavailable(
            "the store has vectors of another model; restart with that model"
        )
    return error


def _why_unavailable(error: Exception, cause: BaseException | None) -> str:
    if isinstance(cause, psycopg.errors.DiskFull):
        return "the disk of the database is full; make room on it"
    if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction) or (
        isinstance(cause, psycopg.errors.InsufficientPrivilege) and _READ_ONLY in str(cause)
    ):
        return "the database cannot be written; check its disk"
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    unavailable = lost or isinstance(cause, psycopg.OperationalError)
    return "the database does not answer; try again later" if unavailable else ""

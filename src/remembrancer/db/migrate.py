"""Bring a database to the current schema."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from remembrancer.errors import DatabaseSetupError

log = logging.getLogger(__name__)

# Two processes may start on an empty database; one migrates, the other waits.
MIGRATION_LOCK = 6_148_914_691


def migrate(url: str) -> None:
    """Apply all pending migrations to the database at ``url``, as its owner.

    Safe to call from several processes at once. Raises ``DatabaseSetupError`` when the
    server cannot be reached, is older than Postgres 16, or lacks pgvector.
    """
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            check_server(connection)
            upgrade(connection)
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig) else "no reason given"
        raise DatabaseSetupError(f"the database cannot be set up: {reason}") from error
    finally:
        engine.dispose()


def check_server(connection: Connection) -> None:
    """Raise ``DatabaseSetupError`` for a server older than Postgres 16 or without pgvector."""
    version = connection.scalar(text("SELECT current_setting('server_version_num')::int"))
    if version < 160000:
        raise DatabaseSetupError(f"Postgres 16 or newer is needed, this is {version // 10000}")
    available = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
    if connection.scalar(text(available)) is None:
        raise DatabaseSetupError("the pgvector extension is not installed on this Postgres server")


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Apply the migrations up to ``revision`` that are pending, in the open transaction."""
    with _config() as config:
        config.attributes["connection"] = connection
        scripts = ScriptDirectory.from_config(config)
        wanted = scripts.get_current_head() if revision == "head" else revision
        if MigrationContext.configure(connection).get_current_revision() != wanted:
            log.info("migrating the database to revision %s", wanted)
            command.upgrade(config, revision)


def lock(connection: Connection) -> None:
    """Let nobody else migrate until the open transaction ends."""
    connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))


def is_known(revision: str) -> bool:
    """Say whether a migration is one of this version's."""
    with _config() as config:
        return revision in {
            s.revision for s in ScriptDirectory.from_config(config).walk_revisions()
        }


@contextmanager
def _config() -> Iterator[Config]:
    with as_file(files("remembrancer.db") / "migrations") as location:
        config = Config()
        config.set_main_option("script_location", str(location))
        yield config

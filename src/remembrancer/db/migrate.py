"""Bring a database to the current schema."""

import logging
from importlib.resources import as_file, files

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from remembrancer.errors import DatabaseSetupError

log = logging.getLogger(__name__)


def migrate(url: str) -> None:
    """Apply all pending migrations to the database at ``url``, as its owner.

    Safe to call from several processes at once. Raises ``DatabaseSetupError`` when the
    server cannot be reached, is older than Postgres 16, or lacks pgvector.
    """
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            _check_server(connection)
            _upgrade(connection)
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig) else "no reason given"
        raise DatabaseSetupError(f"the database cannot be set up: {reason}") from error
    finally:
        engine.dispose()


def _check_server(connection: Connection) -> None:
    version = connection.scalar(text("SELECT current_setting('server_version_num')::int"))
    if version < 160000:
        raise DatabaseSetupError(f"Postgres 16 or newer is needed, this is {version // 10000}")
    available = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
    if connection.scalar(text(available)) is None:
        raise DatabaseSetupError("the pgvector extension is not installed on this Postgres server")


def _upgrade(connection: Connection) -> None:
    with as_file(files("remembrancer.db") / "migrations") as location:
        config = Config()
        config.set_main_option("script_location", str(location))
        config.attributes["connection"] = connection
        head = ScriptDirectory.from_config(config).get_current_head()
        if MigrationContext.configure(connection).get_current_revision() != head:
            log.info("migrating the database to revision %s", head)
            command.upgrade(config, "head")

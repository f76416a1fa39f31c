"""Alembic's entry point: runs migrations on the connection that ``migrate`` hands over."""

from alembic import context
from sqlalchemy import text

from remembrancer.db.migrate import lock
from remembrancer.db.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    # Another store may be further along the search path.
    version_table_schema=connection.scalar(text("SELECT current_schema()")),
)
with context.begin_transaction():
    lock(connection)
    context.run_migrations()

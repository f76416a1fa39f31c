"""Alembic's entry point: runs migrations on the connection that ``migrate`` hands over."""

from alembic import context

from remembrancer.db.tables import metadata

# Two processes may start on an empty database; one migrates, the other waits.
MIGRATION_LOCK = 6_148_914_691

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
    context.run_migrations()

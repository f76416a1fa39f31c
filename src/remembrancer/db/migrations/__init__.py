"""Schema migrations, run by Alembic when the service starts."""

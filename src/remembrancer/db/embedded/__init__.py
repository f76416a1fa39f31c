"""The embedded Postgres server, for installations without their own."""

from remembrancer.db.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres"]

"""A Postgres server of our own, for installations that bring none."""

from remembrancer.db.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres"]

"""The embedded Postgres server, for installations without their own."""

from remembrancer.db.embedded.server import EmbeddedPostgres
from remembrancer.settings import Settings

__all__ = ["EmbeddedPostgres", "embedded_server"]


def embedded_server(settings: Settings) -> EmbeddedPostgres:
    """Return the server of these settings, not yet started."""
    return EmbeddedPostgres(
        settings.data_dir.expanduser(),
        shared_buffers=settings.database.shared_buffers,
        start_timeout=settings.database.start_timeout,
    )

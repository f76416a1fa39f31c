"""The whole store in one file, and back, whichever Postgres it lies in."""

from remembrancer.backup.archive import Archive, Manifest
from remembrancer.backup.dump import back_up
from remembrancer.backup.restore import restore

__all__ = ["Archive", "Manifest", "back_up", "restore"]

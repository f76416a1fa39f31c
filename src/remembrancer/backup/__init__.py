"""Back up a store to one file, and restore it into any Postgres."""

from remembrancer.backup.archive import Archive, Manifest, Observer
from remembrancer.backup.dump import back_up
from remembrancer.backup.restore import restore

__all__ = ["Archive", "Manifest", "Observer", "back_up", "restore"]

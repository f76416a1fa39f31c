"""Options of an import, and the account of an export."""

from dataclasses import dataclass
from datetime import tzinfo
from enum import StrEnum


class DateOrder(StrEnum):
    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"


@dataclass(frozen=True, slots=True)
class Options:
    """Facts about a file that the file itself does not state.

    ``platform`` and ``conversation`` apply to messages that name none. ``me`` is the name or
    platform id, in the file, of the user of the import. ``longest`` is the maximum length of a
    message in characters; a longer one is split.
    """

    platform: str = "import"
    conversation: str = "import"
    me: str | None = None
    date_order: DateOrder | None = None
    time_zone: tzinfo | None = None
    longest: int = 32_000


@dataclass(frozen=True, slots=True)
class Account:
    platform: str
    platform_user_id: str
    name: str = ""

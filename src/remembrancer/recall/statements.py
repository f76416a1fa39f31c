"""The recall statements, read from their files once."""

import re
from importlib.resources import files

from remembrancer.access import SCOPE_FACTS, visible


def load(name: str) -> str:
    """Return ``sql/<name>.sql`` with the access rule filled in, in psycopg's placeholders."""
    written = (files("remembrancer.recall") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    statement = "\n".join(line for line in written.splitlines() if not line.startswith("--"))
    filled = statement.format(visible=visible("i"), scope_facts=SCOPE_FACTS)
    return re.sub(r"(?<![:\w]):([a-z]\w*)", r"%(\1)s", filled)


CANDIDATES = load("candidates")
MEMORIES_IN_ORDER = load("memories_in_order")

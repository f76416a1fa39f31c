"""What must be so in a whole store, with what to do where it is not."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from remembrancer import tokens
from remembrancer.analysis import analyse
from remembrancer.integrity.rows import ItemText, MemoryText
from remembrancer.memories.rules import statement_hash, subject_key
from remembrancer.search.index import content_hash, voiced
from remembrancer.search.traits import traits

_RESTORE: Final = "restore a backup from before, with `remembrancer restore`"
_ERASE: Final = "erase its owner with `remembrancer erase`, or " + _RESTORE
_REWRITE: Final = "update the memory with its content, or " + _RESTORE
_SEARCH: Final = "what it names may be missing in recall, or be there too long; " + _RESTORE


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that must be so. ``name`` is that of its statement."""

    name: str
    subject: str
    broken: str
    repair: str = _RESTORE


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that some rows break."""

    rule: Rule
    count: int
    ids: tuple[str, ...]
    """Of the first rows."""


RULES: Final = (
    Rule("positions_twice", "Sequences", "positions of conversations with two messages"),
    Rule("positions_beyond", "Sequences", "messages after the end of their conversation"),
    Rule("summarised_beyond", "Windows", "conversations with summaries in their window"),
    Rule("chunks_overlap", "Windows", "summaries of a range that another one has"),
    Rule("chunks_beyond", "Windows", "summaries of messages that are not summarised"),
    Rule(
        "chunks_stale",
        "Windows",
        "summaries with old words",
        "they wait to be made anew: run `remembrancer worker --once`",
    ),
    Rule("versions_current", "Versions", "memories that are not their latest version", _REWRITE),
    Rule("versions_open", "Versions", "memories with several current versions", _REWRITE),
    Rule("mention_counts", "Versions", "memories with a wrong count of mentions"),
    Rule("owners", "Owners", "owners who are unknown, or merged into others", _ERASE),
    Rule("survivors", "Owners", "users merged into somebody who is not there", _ERASE),
    Rule("shared_nowhere", "Owners", "rows that are shared, but in no space"),
    Rule("orphans", "Orphans", "rows that name a row that is not there"),
    Rule("items_without_source", "Search", "entries without their text", _SEARCH),
    Rule("sources_without_item", "Search", "texts without an entry", _SEARCH),
    Rule("items_twice", "Search", "texts with several entries", _SEARCH),
    Rule("items_of_memories", "Search", "entries that differ from their memory", _SEARCH),
    Rule("items_of_messages", "Search", "entries that differ from their message", _SEARCH),
    Rule("items_of_chunks", "Search", "entries that differ from their summary", _SEARCH),
    Rule(
        "vectors",
        "Search",
        "vectors of another size than the model's",
        "run `remembrancer reembed`",
    ),
    Rule("postings", "Search", "entries whose postings are not their terms", _SEARCH),
    Rule("shared_postings", "Search", "entries whose postings are for others", _SEARCH),
    Rule("shared_associations", "Search", "memories whose associations are for others", _REWRITE),
    Rule("item_changes", "Search", "owners whose changes are not counted", "restart the servers"),
)
FOREIGN_KEY: Final = Rule("foreign_key", "Orphans", "rows of {child} without their row of {parent}")
MEMORY_HASHES: Final = Rule(
    "memory_hashes", "Hashes", "memories whose hash or tokens are of another text", _REWRITE
)
ITEM_HASHES: Final = Rule(
    "item_hashes", "Hashes", "entries whose hash, terms or traits are of another text", _SEARCH
)


def wrong_memory(row: MemoryText) -> bool:
    """Say whether what is computed of a memory's content is of another content."""
    key = statement_hash(
        row.content, row.valid_from, row.valid_to, row.place_id, row.address, row.external_id
    )
    computed = (key, tokens.count(row.content), subject_key(row.subject))
    return computed != (row.content_hash, row.tokens, row.subject_key)


def wrong_item(row: ItemText) -> bool:
    """Say whether what is computed of an entry's text is of another text."""
    if row.content is None:
        return False  # it has no source: another rule
    [words] = voiced([row.content], [row.speaker])
    terms = analyse(words)
    computed = (content_hash(row.content), traits(row.content), terms, sum(terms.values()))
    return computed != (row.content_hash, row.traits, dict(_counted(row.terms)), row.length)


def _counted(terms: str) -> Iterator[tuple[str, int]]:
    yield from Counter(terms.split(" ") if terms else ()).items()

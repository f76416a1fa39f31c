"""One row per searchable text with its vector, and the postings of keyword search."""

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import BigInteger, Boolean, Integer, Text, Uuid

from remembrancer.db.tables import base
from remembrancer.db.tables.base import optional, required, table

# A memory version, a message or a chunk. Its owner and placement are copied from there in the same
# transaction, so that one scan can rank all three.
recall_items = table(
    "recall_items",
    # First the columns that every search reads of every row, up to the vector: each column costs a
    # step past all columns before it.
    base.owner(),
    sa.Column("id", BigInteger, sa.Identity(always=False), primary_key=True),
    required(Integer, "length"),
    required(Boolean, "active", default="true"),
    base.placement(),
    base.optional_instants("superseded_at"),
    optional(Uuid, "conversation_id"),
    optional(Integer, "position"),
    required(sa.LargeBinary, "content_hash"),
    required(HALFVEC, "embedding"),
    required(Text, "source_type"),
    optional(Text, "memory_id"),
    optional(Integer, "memory_version"),
    optional(Uuid, "source_id"),
    base.given_instants("at"),
    base.instants("recorded_at"),
    base.optional_instants("valid_from", "valid_to"),
    optional(Text, "kind", "category"),
    optional(sa.Float, "importance"),
    # Those of its postings with spaces between them, each as often as it occurs.
    required(Text, "terms", default=""),
    # Of the text (search/traits.py).
    required(sa.SmallInteger, "traits", default="0"),
    base.one_of("source_type", "memory", "message", "chunk"),
    base.index("ix_recall_items_memory", "owner_id", "memory_id", "memory_version"),
    base.index("ix_recall_items_source", "owner_id", "source_id"),
    base.index(
        "ix_recall_items_conversation",
        "conversation_id",
        "position",
        where="position IS NOT NULL",
    ),
    base.index(
        "ix_recall_items_shared_space", "space_id", "owner_id", where="visibility = 'shared'"
    ),
)

# How often the items of an owner changed, and which changed last: a process that has them in
# memory reads what is new. Starts at a time in microseconds, so that no number comes twice.
item_changes = table(
    "item_changes",
    base.owner(),
    required(BigInteger, "version"),
    required(sa.ARRAY(BigInteger), "recent"),
)

# No foreign key: an item is written once and removed together with its postings, and a check of
# sixteen rows per item would be most of a write.
postings = table(
    "postings",
    base.owner(),
    base.keys(Text(collation="C"), "term"),
    base.keys(BigInteger, "item_id"),
    required(sa.SmallInteger, "frequency"),
    # Set if the item is shared in a space, so that row security needs no look-up.
    optional(Uuid, "shared_space_id"),
)

# Vectors of the next model, until `reembed` replaces the old ones.
reembeddings = table(
    "reembeddings",
    base.owner(),
    base.keys(BigInteger, "item_id"),
    required(Text, "model"),
    required(HALFVEC, "embedding"),
    base.part_of("recall_items", owner_id="owner_id", item_id="id"),
)

embedding_model = table(
    "embedding_model",
    base.singleton(),
    required(Text, "name"),
    required(Integer, "dimensions"),
    base.instants("updated_at"),
)

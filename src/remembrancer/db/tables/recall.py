"""What recall searches: one row per searchable text, its vector, and its postings."""

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from remembrancer.db.tables.base import instant, metadata, owner, placement

# A memory version, a message or a chunk. Its owner and placement are copied from
# there in the same transaction, so that one scan can rank all three.
recall_items = Table(
    "recall_items",
    metadata,
    # First what every search reads of every row, up to the vector: reaching a column costs
    # a step past each one before it.
    owner(),
    Column("id", BigInteger, Identity(always=False), primary_key=True),
    Column("length", Integer, nullable=False),
    Column("active", Boolean, nullable=False, server_default="true"),
    *placement(),
    instant("superseded_at", null=True),
    Column("conversation_id", Uuid),
    Column("position", Integer),
    Column("content_hash", LargeBinary, nullable=False),
    Column("embedding", HALFVEC, nullable=False),
    Column("source_type", Text, nullable=False),
    Column("memory_id", Text),
    Column("memory_version", Integer),
    Column("source_id", Uuid),
    instant("at"),
    # The version's intervals: when it was known, and when it held.
    instant("recorded_at", default="now"),
    instant("valid_from", null=True),
    instant("valid_to", null=True),
    Column("kind", Text),
    Column("category", Text),
    Column("importance", Float),
    CheckConstraint("source_type IN ('memory', 'message', 'chunk')", name="source_type"),
    Index("ix_recall_items_memory", "owner_id", "memory_id", "memory_version"),
    Index("ix_recall_items_source", "owner_id", "source_id"),
    Index(
        "ix_recall_items_conversation",
        "conversation_id",
        "position",
        postgresql_where=text("position IS NOT NULL"),
    ),
    Index(
        "ix_recall_items_shared_space",
        "space_id",
        postgresql_where=text("visibility = 'shared'"),
    ),
)

_item_key = ("owner_id", "item_id"), ("recall_items.owner_id", "recall_items.id")

# No foreign key: an item is written once and removed only by whoever removes its
# postings too, and checking sixteen rows an item would be most of a write.
postings = Table(
    "postings",
    metadata,
    owner(),
    Column("term", Text(collation="C"), primary_key=True),
    Column("item_id", BigInteger, primary_key=True),
    Column("frequency", SmallInteger, nullable=False),
    # Set where the item is shared in a space, so that row security needs no look-up.
    Column("shared_space_id", Uuid),
)

# Vectors of the next model, until `reembed` puts them in place.
reembeddings = Table(
    "reembeddings",
    metadata,
    owner(),
    Column("item_id", BigInteger, primary_key=True),
    Column("model", Text, nullable=False),
    Column("embedding", HALFVEC, nullable=False),
    ForeignKeyConstraint(*_item_key, ondelete="CASCADE"),
)

embedding_model = Table(
    "embedding_model",
    metadata,
    Column("singleton", Boolean, primary_key=True, server_default="true"),
    Column("name", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    instant("updated_at", default="now"),
    CheckConstraint("singleton", name="one_row"),
)

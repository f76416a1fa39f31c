"""Shared knowledge is searched by indexes.

Revision ID: 0021
Revises: 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# The index depends on the model, which a new store has not got yet, and the service owns no table.
# Vectors of another size, while `reembed` replaces them, are not in it.
_INDEX_SHARED = """
CREATE FUNCTION app_index_shared() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET maintenance_work_mem = '512MB'
SET max_parallel_maintenance_workers = 0 AS $$
DECLARE
    indexed text;
    size    int;
BEGIN
    SELECT m.dimensions, pg_get_indexdef(to_regclass('ix_recall_items_shared_vector'))
      INTO size, indexed FROM embedding_model AS m;
    IF indexed LIKE '%halfvec(' || size || ')%' OR (indexed IS NULL AND size > 4000) THEN
        RETURN;
    END IF;
    -- Of two first starts, one waits for the other.
    SELECT m.dimensions INTO size FROM embedding_model AS m FOR UPDATE;
    DROP INDEX IF EXISTS ix_recall_items_shared_vector;
    IF size <= 4000 THEN
        EXECUTE format($sql$
            CREATE INDEX ix_recall_items_shared_vector ON recall_items
             USING hnsw ((CAST(embedding AS halfvec(%1$s))) halfvec_cosine_ops)
             WHERE owner_id = '00000000-0000-0000-0000-000000000000' AND active
               AND superseded_at IS NULL AND vector_dims(embedding) = %1$s
        $sql$, size);
    END IF;
END
$$
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_INDEX_SHARED)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP FUNCTION app_index_shared()")
    op.execute("DROP INDEX IF EXISTS ix_recall_items_shared_vector")

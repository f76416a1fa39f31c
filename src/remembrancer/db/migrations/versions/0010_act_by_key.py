"""A transaction acts for somebody only while their API key is valid.

Revision ID: 0010
Revises: 0008
"""

from alembic import op

revision = "0010"
down_revision = "0008"
branch_labels = None
depends_on = None

# Like app_act_as, if the key is valid and has this role, user and former ids of the user; else an
# error, after which no statement of the round trip runs.
_ACT = """
CREATE FUNCTION app_act_by_key(
    for_user uuid, in_role text, by_key uuid, key_role text, key_user uuid, merged_ids uuid[]
) RETURNS uuid LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
    PERFORM set_config('app.role', 'system', true);
    PERFORM FROM api_keys AS k
       LEFT JOIN users AS u ON u.id = k.user_id
      WHERE k.id = by_key
        AND k.role = key_role
        AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > now())
        AND coalesce(u.merged_into, k.user_id) IS NOT DISTINCT FROM key_user
        AND (key_user IS NULL OR merged_ids = ARRAY(
                SELECT f.id FROM users AS f WHERE f.merged_into = key_user ORDER BY f.id));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the API key is not valid' USING ERRCODE = 'RK401';
    END IF;
    RETURN app_act_as(for_user, in_role);
END
$$
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_ACT)


def downgrade() -> None:
    op.execute("DROP FUNCTION app_act_by_key(uuid, text, uuid, text, uuid, uuid[])")

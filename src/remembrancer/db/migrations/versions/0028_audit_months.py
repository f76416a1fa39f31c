"""The audit log has a partition for each month, so that old ones are dropped as a whole.

Revision ID: 0028
Revises: 0027
"""

from typing import Final

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

_MOVE: Final = """
INSERT INTO audit_log (owner_id, id, at, actor_role, actor_user_id, actor_agent_id, actor_key_id,
                       entry_point, action, target_ids, outcome)
SELECT owner_id, id, at, actor_role, actor_user_id, actor_agent_id, actor_key_id,
       entry_point, action, target_ids, outcome
  FROM audit_log_before;
DROP TABLE audit_log_before;
"""
_TABLE: Final = """
CREATE TABLE audit_log (
    owner_id uuid NOT NULL,
    at timestamptz DEFAULT now() NOT NULL,
    id uuid NOT NULL,
    actor_role text NOT NULL,
    actor_user_id uuid,
    actor_agent_id uuid,
    actor_key_id uuid,
    entry_point text NOT NULL,
    action text NOT NULL,
    target_ids text[] NOT NULL,
    outcome text DEFAULT 'done' NOT NULL,
    CONSTRAINT pk_audit_log PRIMARY KEY ({key})
) {partitions};
CREATE INDEX ix_audit_log_everybody ON audit_log (at);
"""

# No write may fail for want of a month: this partition takes what has none.
_OTHER: Final = """
CREATE TABLE audit_log_other (LIKE audit_log INCLUDING DEFAULTS);
SELECT app_seal_audit('audit_log_other');
ALTER TABLE audit_log ATTACH PARTITION audit_log_other DEFAULT;
"""

# The service owns no table, so it adds and drops months by functions of the owner. Whoever may
# read the log reads it as a whole: a partition is closed to everybody but the owner.
_FUNCTIONS: Final = """
CREATE FUNCTION app_seal_audit(part regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('REVOKE ALL ON %1$s FROM PUBLIC, remembrancer_app', part);
    EXECUTE format('CREATE POLICY upkeep ON %1$s TO CURRENT_USER USING (true)', part);
    EXECUTE format('ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %1$s FORCE ROW LEVEL SECURITY', part);
END
$$;

CREATE FUNCTION app_audit_month(part name) RETURNS timestamptz LANGUAGE sql STABLE
    RETURN CASE WHEN part ~ '^audit_log_[0-9]{4}_[0-9]{2}$'
                THEN to_date(right(part, 7), 'YYYY_MM')::timestamp AT TIME ZONE 'UTC' END;

-- Adds the partition of a month, with the lines that had none. Nothing if it is there already, or
-- if others use the log at the moment: writers must not wait behind us.
CREATE FUNCTION app_add_audit_month(month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET timezone = 'UTC'
SET lock_timeout = '300ms' AS $$
DECLARE
    part  constant name := to_char(month, '"audit_log_"YYYY_MM');
    since constant timestamptz := date_trunc('month', month::timestamp);
    until constant timestamptz := date_trunc('month', month::timestamp) + interval '1 month';
BEGIN
    IF app_role() <> 'system' THEN
        RAISE EXCEPTION 'only the service adds months' USING ERRCODE = '42501';
    END IF;
    IF to_regclass(part) IS NOT NULL THEN
        RETURN false;
    END IF;
    LOCK TABLE audit_log IN SHARE UPDATE EXCLUSIVE MODE;
    LOCK TABLE audit_log_other IN ACCESS EXCLUSIVE MODE;
    IF to_regclass(part) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE audit_log INCLUDING DEFAULTS)', part);
    PERFORM app_seal_audit(part::regclass);
    EXECUTE format('WITH moved AS (DELETE FROM audit_log_other WHERE at >= $1 AND at < $2'
                   ' RETURNING *) INSERT INTO %I SELECT * FROM moved', part) USING since, until;
    EXECUTE format('ALTER TABLE audit_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   part, since, until);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;

-- Months of lines that have no partition, up to one.
CREATE FUNCTION app_audit_months(until date) RETURNS SETOF date LANGUAGE plpgsql SECURITY DEFINER
SET timezone = 'UTC' AS $$
BEGIN
    IF app_role() <> 'system' THEN
        RAISE EXCEPTION 'only the service asks for months' USING ERRCODE = '42501';
    END IF;
    RETURN QUERY SELECT DISTINCT date_trunc('month', at)::date FROM audit_log_other
                  WHERE at < until + interval '1 month' ORDER BY 1;
END
$$;

-- Drops the first month that ended before a time; returns its lines, null if there is none.
CREATE FUNCTION app_drop_audit_month(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET timezone = 'UTC'
SET lock_timeout = '300ms' AS $$
DECLARE
    part  regclass;
    lines bigint;
BEGIN
    IF app_role() <> 'system' THEN
        RAISE EXCEPTION 'only the service drops months' USING ERRCODE = '42501';
    END IF;
    SELECT c.oid INTO part
      FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'audit_log'::regclass
       AND app_audit_month(c.relname) + interval '1 month' <= before
     ORDER BY c.relname LIMIT 1;
    IF part IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT count(*) FROM %s', part) INTO lines;
    EXECUTE format('DROP TABLE %s', part);
    RETURN lines;
EXCEPTION WHEN lock_not_available THEN
    RETURN NULL;
END
$$;

-- They run as the owner, so no table or type of a caller may stand for one of ours.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['app_add_audit_month(date)', 'app_audit_months(date)',
                                'app_drop_audit_month(timestamptz)'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', name,
                       (SELECT string_agg(quote_ident(s), ', ')
                          FROM unnest(current_schemas(false)) AS s));
    END LOOP;
END
$$;
"""
_DROP_FUNCTIONS: Final = """
DROP FUNCTION app_drop_audit_month(timestamptz), app_audit_months(date), app_add_audit_month(date),
    app_audit_month(name), app_seal_audit(regclass)
"""

_SET_ASIDE: Final = """
ALTER TABLE audit_log RENAME TO audit_log_before;
ALTER TABLE audit_log_before RENAME CONSTRAINT pk_audit_log TO pk_audit_log_before;
DROP INDEX ix_audit_log_everybody;
"""
_SECURE: Final = """
DO $$
DECLARE
    rule record;
BEGIN
    FOR rule IN SELECT * FROM pg_policies
                 WHERE tablename = 'audit_log_before' AND schemaname = current_schema() LOOP
        EXECUTE format('CREATE POLICY %I ON audit_log AS %s FOR %s TO %s', rule.policyname,
                       rule.permissive, rule.cmd, array_to_string(rule.roles, ', '))
                || coalesce(' USING (' || rule.qual || ')', '')
                || coalesce(' WITH CHECK (' || rule.with_check || ')', '');
    END LOOP;
END
$$;
ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_log FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON audit_log TO remembrancer_app;
"""
# Row-level security binds the owner too.
_AS_SYSTEM: Final = "SELECT set_config('app.role', 'system', true)"
_AS_NOBODY: Final = "SELECT set_config('app.role', '', true)"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_AS_SYSTEM)
    op.execute(_SET_ASIDE)
    op.execute(_TABLE.format(key="owner_id, at, id", partitions="PARTITION BY RANGE (at)"))
    op.execute(_SECURE)
    op.execute(_FUNCTIONS)
    op.execute(_OTHER)
    op.execute("""
        SELECT app_add_audit_month(month)
          FROM (SELECT date_trunc('month', at AT TIME ZONE 'UTC')::date AS month
                  FROM audit_log_before
                 UNION
                SELECT (date_trunc('month', now() AT TIME ZONE 'UTC')
                        + make_interval(months => later))::date
                  FROM generate_series(0, 2) AS later) AS needed
         ORDER BY month
    """)
    _move()


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_AS_SYSTEM)
    op.execute(_DROP_FUNCTIONS)
    op.execute(_SET_ASIDE)
    op.execute(_TABLE.format(key="owner_id, id", partitions=""))
    op.execute("CREATE INDEX ix_audit_log_at ON audit_log (owner_id, at)")
    op.execute(_SECURE)
    _move()


def _move() -> None:
    op.execute(_MOVE)
    op.execute(_AS_NOBODY)

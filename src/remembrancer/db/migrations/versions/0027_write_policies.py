"""Row-level security for writes: each table says who may add, change and remove its rows.

Revision ID: 0027
Revises: 0026
"""

from typing import Final, NamedTuple

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

# A scalar sub-select is evaluated once a statement, and only where it is needed; a bare call once
# a row.
ME: Final = "(SELECT app_user_id())"
ROLE: Final = "(SELECT app_role())"
SYSTEM: Final = f"{ROLE} = 'system'"
STAFF: Final = f"{ROLE} IN ('service', 'admin', 'system')"
ADMIN: Final = f"{ROLE} IN ('admin', 'system')"
SPACES: Final = "((SELECT app_spaces())::uuid[])"
NOBODY: Final = "'00000000-0000-0000-0000-000000000000'"
"""The owner of shared knowledge."""
KEPT: Final = ""
"""The policy `reading` stays as it is."""


class Policies(NamedTuple):
    """Conditions on a row: to read, add, lock and remove it, and on its new form to change it."""

    read: str
    add: str
    lock: str
    change: str
    remove: str


def _by_system(read: str = KEPT, *, lock: str = SYSTEM) -> Policies:
    return Policies(read, SYSTEM, lock, SYSTEM, SYSTEM)


def _owned(placed: str = "true", stays: str = "false", *, read: str = KEPT) -> Policies:
    mine = f"(owner_id = {ME} OR {SYSTEM} OR (owner_id = {NOBODY} AND {STAFF}))"
    add, change = f"{mine} AND ({placed})", f"{mine} AND ({placed} OR {stays})"
    return Policies(read, add, mine, change, mine)


def _own(key: str, *more: str) -> str:
    return " OR ".join((f"{key} = {ME}", *more, SYSTEM))


_PLACED: Final = f"space_id IS NULL OR visibility = 'private' OR {STAFF} OR space_id = ANY {SPACES}"
# What its author shared in a space that they left stays shared, and may still be pinned or set
# aside. The function is called for such rows alone.
_STAYS: Final = "app_is_shared(owner_id, {}, space_id)"
_SHARED_PLACED: Final = f"shared_space_id IS NULL OR {STAFF} OR shared_space_id = ANY {SPACES}"
_SEEN_TARGET: Final = (
    f"target_owner_id = {ME} OR target_owner_id = {NOBODY} OR {STAFF} OR EXISTS ("
    "SELECT FROM memories AS m WHERE m.owner_id = target_owner_id AND m.id = target_id)"
)
_TRUE_LINE: Final = (
    f"{SYSTEM} OR (actor_role = {ROLE} AND actor_user_id IS NOT DISTINCT FROM {ME}"
    f" AND ({STAFF} OR owner_id = {ME} OR owner_id = {NOBODY}))"
)
_MOVES: Final = f"(owner_id = {ME} AND action = 'memory.move') OR {SYSTEM}"
_FROZEN: Final = f"owner_id = {NOBODY} OR owner_id = ANY {SPACES}"
_OF_SEEN_MESSAGE: Final = (
    "EXISTS (SELECT FROM messages AS m WHERE m.owner_id = withheld_messages.owner_id"
    " AND m.id = withheld_messages.message_id)"
)
_TAKING_PART: Final = (
    f"EXISTS (SELECT FROM participants AS p WHERE p.user_id = {ME}"
    " AND p.conversation_id = conversations.id)"
)

POLICIES: Final = {
    "memories": _owned(_PLACED, _STAYS.format("id")),
    "recall_items": _owned(_PLACED, _STAYS.format("memory_id")),
    "memory_versions": _owned(),
    "mentions": _owned(),
    "postings": _owned(_SHARED_PLACED),
    "associations": _owned(f"({_SHARED_PLACED}) AND ({_SEEN_TARGET})"),
    "idempotency_keys": _owned(),
    "item_changes": _owned(read=f"owner_id = {ME} OR owner_id = {NOBODY} OR {STAFF}"),
    "messages": _by_system(),
    "chunks": _by_system(),
    "withheld_messages": _by_system(f"{SYSTEM} OR {_OF_SEEN_MESSAGE}"),
    "conversations": _by_system(f"{SYSTEM} OR {_TAKING_PART}"),
    "participants": _by_system(_own("user_id")),
    "frozen_contexts": _by_system(_own("owner_id", _FROZEN)),
    "frozen_lines": _by_system(_own("owner_id", _FROZEN)),
    "spaces": _by_system(f"id = ANY {SPACES} OR {SYSTEM}"),
    # Writers into a space lock their membership.
    "space_members": _by_system(_own("user_id"), lock=_own("user_id")),
    "space_refusals": _by_system(_own("user_id")),
    "space_invitations": _by_system(SYSTEM),
    # Writers lock users. Nobody merges themselves.
    "users": Policies(
        read=f"id = {ME} OR {STAFF}",
        add=SYSTEM,
        lock=f"id = {ME} OR {STAFF}",
        change=f"(id = {ME} AND merged_into IS NULL) OR {SYSTEM}",
        remove=SYSTEM,
    ),
    "platform_links": _by_system(f"user_id = {ME} OR {STAFF}"),
    "memory_preferences": Policies(f"user_id = {ME} OR {STAFF}", *[_own("user_id")] * 4),
    "undo_records": Policies(_own("owner_id"), _MOVES, _MOVES, _MOVES, SYSTEM),
    "audit_log": Policies(_own("owner_id"), _TRUE_LINE, "false", "false", SYSTEM),
    "agents": Policies("true", STAFF, STAFF, STAFF, SYSTEM),
    "memory_policy": Policies("true", SYSTEM, ADMIN, ADMIN, SYSTEM),
    # Writers of items lock the model.
    "embedding_model": _by_system("true", lock="true"),
    "api_keys": _by_system(SYSTEM),
    "sessions": _by_system(SYSTEM),
    "sign_in_links": _by_system(SYSTEM),
    "uploads": _by_system(_own("owner_id")),
    "upload_parts": _by_system(_own("owner_id")),
    "reembeddings": _by_system(SYSTEM),
}

_IS_SHARED: Final = """
CREATE FUNCTION app_is_shared(owner uuid, memory text, space uuid) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM memories AS m
                WHERE m.owner_id = owner AND m.id = memory AND m.space_id = space
                  AND m.visibility = 'shared')
"""

# The queue has ids of conversations: whoever adds a job, or changes one, has them read.
_JOBS: Final = f"""
DO $$
DECLARE
    tab regclass;
BEGIN
    FOR tab IN SELECT oid FROM pg_class
                WHERE relnamespace = 'jobs'::regnamespace AND relkind IN ('r', 'p')
    LOOP
        EXECUTE format('CREATE POLICY bookkeeping ON %s USING (%s)', tab, $c${SYSTEM}$c$);
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', tab);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', tab);
    END LOOP;
END
$$
"""  # noqa: S608 - of constants

# It runs as the owner, so no table or type of its caller may stand for one of ours.
_OF_OWNER: Final = """
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION app_index_shared() SET search_path = %s, pg_temp',
                   (SELECT string_agg(quote_ident(s), ', ')
                      FROM unnest(current_schemas(false)) AS s));
END
$$
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_IS_SHARED)
    for table, policies in POLICIES.items():
        _replace(table, policies)
    op.execute(_JOBS)
    op.execute(_OF_OWNER)
    # The service looks whether the schema is current.
    op.execute("REVOKE ALL ON alembic_version FROM remembrancer_app")
    op.execute("GRANT SELECT ON alembic_version TO remembrancer_app")


def _drop(table: str, *, reading: bool) -> None:
    op.execute(f"""
        DO $$
        DECLARE
            old name;
        BEGIN
            FOR old IN SELECT polname FROM pg_policy
                        WHERE polrelid = '{table}'::regclass
                          AND NOT (polname = 'reading' AND {not reading})
            LOOP
                EXECUTE format('DROP POLICY %I ON {table}', old);
            END LOOP;
        END
        $$
    """)  # noqa: S608 - of constants


def _replace(table: str, policies: Policies) -> None:
    _drop(table, reading=bool(policies.read))
    if policies.read:
        op.execute(f"CREATE POLICY reading ON {table} FOR SELECT USING ({policies.read})")
    op.execute(f"CREATE POLICY adding ON {table} FOR INSERT WITH CHECK ({policies.add})")
    op.execute(
        f"CREATE POLICY changing ON {table} FOR UPDATE USING ({policies.lock})"
        f" WITH CHECK ({policies.change})"
    )
    op.execute(f"CREATE POLICY removing ON {table} FOR DELETE USING ({policies.remove})")
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")


# Policies of before -----------------------------------------------------------------------------

_WRITES: Final = f"(owner_id = {ME} OR {STAFF})"
_CHANGES: Final = f"(owner_id = {ME} OR {SYSTEM} OR (owner_id = {NOBODY} AND {STAFF}))"
_OF_OWN: Final = {"own": f"USING ({_own('owner_id')})"}
_OF_USER: Final = {"own": f"USING ({_own('user_id')})"}
_OF_STAFF: Final = {"own": f"USING (user_id = {ME} OR {STAFF})"}
_BOOKKEEPING: Final = {"bookkeeping": f"USING ({SYSTEM})"}
_FROZEN_OWN: Final = {"own": f"USING ({_own('owner_id', _FROZEN)}) WITH CHECK ({SYSTEM})"}


def _owned_before(placed: str = "") -> dict[str, str]:
    return {
        "adding": f"FOR INSERT WITH CHECK ({_WRITES}{placed})",
        "changing": f"FOR UPDATE USING {_CHANGES} WITH CHECK {_CHANGES}",
        "removing": f"FOR DELETE USING {_CHANGES}",
    }


_IN_SPACE: Final = _owned_before(
    f" AND (space_id IS NULL OR {STAFF} OR visibility = 'private' OR space_id = ANY {SPACES})"
)
_IN_SHARED_SPACE: Final = _owned_before(f" AND ({_SHARED_PLACED})")
BEFORE: Final = {
    **dict.fromkeys(("memories", "recall_items", "messages", "chunks"), _IN_SPACE),
    **dict.fromkeys(("postings", "associations"), _IN_SHARED_SPACE),
    **dict.fromkeys(("memory_versions", "mentions", "idempotency_keys"), _owned_before()),
    **dict.fromkeys(("frozen_contexts", "frozen_lines"), _FROZEN_OWN),
    **dict.fromkeys(("undo_records", "uploads", "upload_parts"), _OF_OWN),
    **dict.fromkeys(("participants", "space_members", "space_refusals"), _OF_USER),
    **dict.fromkeys(("platform_links", "memory_preferences"), _OF_STAFF),
    **dict.fromkeys(
        ("api_keys", "reembeddings", "sessions", "sign_in_links", "space_invitations"), _BOOKKEEPING
    ),
    "users": {"own": f"USING (id = {ME} OR {STAFF})"},
    "spaces": {"member": f"USING (id = ANY {SPACES} OR {SYSTEM})"},
    "conversations": {"taking_part": f"USING ({SYSTEM} OR {_TAKING_PART})"},
    "withheld_messages": {
        "reading": f"FOR SELECT USING ({_OF_SEEN_MESSAGE})",
        **_BOOKKEEPING,
    },
    "item_changes": {
        "counting": f"USING (owner_id = {ME} OR owner_id = {NOBODY} OR {STAFF})"
        f" WITH CHECK (owner_id = {ME} OR {STAFF})"
    },
    "audit_log": {
        "noting": "FOR INSERT WITH CHECK (true)",
        "reading": f"FOR SELECT USING ({_own('owner_id')})",
        "removing": f"FOR DELETE USING ({SYSTEM})",
    },
}
_OPEN: Final = ("agents", "memory_policy", "embedding_model")

_OPEN_JOBS: Final = """
DO $$
DECLARE
    tab regclass;
BEGIN
    FOR tab IN SELECT oid FROM pg_class
                WHERE relnamespace = 'jobs'::regnamespace AND relkind IN ('r', 'p')
    LOOP
        EXECUTE format('DROP POLICY bookkeeping ON %s', tab);
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', tab);
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', tab);
    END LOOP;
END
$$
"""


def downgrade() -> None:
    """Read and write by the rules of before, which let a session forge rows."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    for table, policies in POLICIES.items():
        _drop(table, reading=bool(policies.read))
        for name, policy in BEFORE.get(table, {}).items():
            op.execute(f"CREATE POLICY {name} ON {table} {policy}")
    for table in _OPEN:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    op.execute("DROP FUNCTION app_is_shared(uuid, text, uuid)")
    op.execute(_OPEN_JOBS)
    op.execute("ALTER FUNCTION app_index_shared() SET search_path FROM CURRENT")
    op.execute("GRANT INSERT, UPDATE, DELETE ON alembic_version TO remembrancer_app")

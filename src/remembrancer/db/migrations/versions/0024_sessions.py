"""Sessions of browsers and sign-in links, uploads of exports, pauses of users.

Revision ID: 0024
Revises: 0023
"""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_TABLES = """
ALTER TABLE users ADD COLUMN paused_at timestamptz;
CREATE TABLE sessions (
    hash bytea NOT NULL,
    key_id uuid,
    user_id uuid,
    theme text DEFAULT 'auto' NOT NULL,
    notices text[] DEFAULT '{}' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_sessions PRIMARY KEY (hash),
    CONSTRAINT fk_sessions_key_id FOREIGN KEY (key_id)
        REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT fk_sessions_user_id FOREIGN KEY (user_id)
        REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_sessions_key_id ON sessions (key_id);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);

CREATE TABLE sign_in_links (
    hash bytea NOT NULL,
    user_id uuid,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_sign_in_links PRIMARY KEY (hash),
    CONSTRAINT fk_sign_in_links_user_id FOREIGN KEY (user_id)
        REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_sign_in_links_user_id ON sign_in_links (user_id);

CREATE TABLE uploads (
    owner_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    format text,
    is_own boolean NOT NULL,
    options jsonb DEFAULT '{}' NOT NULL,
    status text DEFAULT 'checking' NOT NULL,
    total integer DEFAULT 0 NOT NULL,
    stored integer DEFAULT 0 NOT NULL,
    counts jsonb DEFAULT '{}' NOT NULL,
    reason text,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_uploads PRIMARY KEY (owner_id, id),
    CONSTRAINT ck_uploads_status
        CHECK (status IN ('checking', 'ready', 'storing', 'done', 'failed'))
);
CREATE TABLE upload_parts (
    owner_id uuid NOT NULL,
    upload_id uuid NOT NULL,
    number integer NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT pk_upload_parts PRIMARY KEY (owner_id, upload_id, number),
    CONSTRAINT fk_upload_parts_owner_id_upload_id FOREIGN KEY (owner_id, upload_id)
        REFERENCES uploads (owner_id, id) ON DELETE CASCADE
);
CREATE POLICY own ON uploads
    USING (owner_id = (SELECT app_user_id()) OR (SELECT app_role()) = 'system');
CREATE POLICY own ON upload_parts
    USING (owner_id = (SELECT app_user_id()) OR (SELECT app_role()) = 'system');
ALTER TABLE uploads ENABLE ROW LEVEL SECURITY;
ALTER TABLE uploads FORCE ROW LEVEL SECURITY;
ALTER TABLE upload_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE upload_parts FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON uploads, upload_parts TO remembrancer_app;

CREATE POLICY bookkeeping ON sessions USING ((SELECT app_role()) = 'system');
CREATE POLICY bookkeeping ON sign_in_links USING ((SELECT app_role()) = 'system');
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE sign_in_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in_links FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions, sign_in_links TO remembrancer_app;
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute(_TABLES)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("DROP TABLE upload_parts")
    op.execute("DROP TABLE uploads")
    op.execute("DROP TABLE sign_in_links")
    op.execute("DROP TABLE sessions")
    op.execute("ALTER TABLE users DROP COLUMN paused_at")

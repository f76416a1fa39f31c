-- The shape of the store. Runs in psql as it stands, in an empty database, as the owner.
-- Why the keys look as they do: docs/decisions/0003-schema.md.

CREATE EXTENSION IF NOT EXISTS vector;

-- People and spaces -----------------------------------------------------------

CREATE TABLE users (
    id UUID NOT NULL,
    display_name TEXT NOT NULL,
    time_zone TEXT DEFAULT 'UTC' NOT NULL,
    allow_agent_specific_memory BOOLEAN,
    toggle_migrated_at timestamptz,
    merged_into UUID,
    version INTEGER DEFAULT 1 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_users PRIMARY KEY (id)
);

CREATE TABLE platform_links (
    platform TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    user_id UUID NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_platform_links PRIMARY KEY (platform, platform_user_id),
    CONSTRAINT fk_platform_links_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_platform_links_user_id ON platform_links (user_id);

CREATE TABLE spaces (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT DEFAULT '' NOT NULL,
    created_by UUID NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_spaces PRIMARY KEY (id)
);

CREATE TABLE space_members (
    user_id UUID NOT NULL,
    space_id UUID NOT NULL,
    role TEXT DEFAULT 'member' NOT NULL,
    joined_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_space_members PRIMARY KEY (user_id, space_id),
    CONSTRAINT ck_space_members_role CHECK (role IN ('owner', 'member'))
);
CREATE INDEX ix_space_members_space_id ON space_members (space_id);

-- Agents, preferences, policy -------------------------------------------------

CREATE TABLE agents (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT DEFAULT '' NOT NULL,
    system_prompt TEXT DEFAULT '' NOT NULL,
    provider TEXT,
    model TEXT,
    temperature FLOAT,
    voice TEXT,
    memory_scope TEXT DEFAULT 'agent' NOT NULL,
    version INTEGER DEFAULT 1 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    deleted_at timestamptz,
    CONSTRAINT pk_agents PRIMARY KEY (id),
    CONSTRAINT ck_agents_memory_scope CHECK (memory_scope IN ('global', 'agent'))
);

CREATE TABLE memory_preferences (
    user_id UUID NOT NULL,
    agent_id UUID NOT NULL,
    id UUID NOT NULL,
    allow_agent_specific_memory BOOLEAN NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_memory_preferences PRIMARY KEY (user_id, agent_id),
    CONSTRAINT uq_memory_preferences_user_id_id UNIQUE (user_id, id),
    CONSTRAINT fk_memory_preferences_agent_id FOREIGN KEY(agent_id) REFERENCES agents (id) ON DELETE CASCADE
);

CREATE TABLE memory_policy (
    singleton BOOLEAN DEFAULT true NOT NULL,
    allow_agent_specific_memory BOOLEAN DEFAULT true NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_memory_policy PRIMARY KEY (singleton),
    CONSTRAINT ck_memory_policy_one_row CHECK (singleton)
);

-- Memories --------------------------------------------------------------------

CREATE TABLE memories (
    owner_id UUID NOT NULL,
    id TEXT NOT NULL,
    agent_id UUID,
    space_id UUID,
    visibility TEXT DEFAULT 'private' NOT NULL,
    kind TEXT NOT NULL,
    category TEXT NOT NULL,
    subject TEXT,
    subject_key TEXT,
    content TEXT NOT NULL,
    content_hash BYTEA NOT NULL,
    tokens INTEGER NOT NULL,
    version INTEGER DEFAULT 1 NOT NULL,
    importance FLOAT NOT NULL,
    status TEXT DEFAULT 'active' NOT NULL,
    recalled BOOLEAN DEFAULT true NOT NULL,
    -- What recall and prompts have. The twin of memories.rules.is_in_use.
    in_use BOOLEAN GENERATED ALWAYS AS (status = 'active' AND recalled) STORED NOT NULL,
    review TEXT DEFAULT 'none' NOT NULL,
    revises TEXT,
    pinned BOOLEAN DEFAULT false NOT NULL,
    place_id TEXT,
    address TEXT[],
    metadata JSONB DEFAULT '{}' NOT NULL,
    valid_from timestamptz,
    valid_to timestamptz,
    source TEXT DEFAULT 'manual' NOT NULL,
    platform TEXT,
    conversation_id UUID,
    message_id UUID,
    mention_count INTEGER DEFAULT 1 NOT NULL,
    access_count INTEGER DEFAULT 0 NOT NULL,
    last_accessed_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    forgotten_at timestamptz,
    CONSTRAINT pk_memories PRIMARY KEY (owner_id, id),
    CONSTRAINT ck_memories_visibility CHECK (visibility IN ('private', 'shared')),
    CONSTRAINT ck_memories_status CHECK (status IN ('active', 'inactive', 'evicted', 'forgotten', 'pending')),
    CONSTRAINT ck_memories_review CHECK (review IN ('none', 'pending', 'confirmed', 'rejected')),
    CONSTRAINT ck_memories_importance CHECK (importance BETWEEN 0 AND 1)
);
CREATE INDEX ix_memories_address ON memories (owner_id, address) WHERE address IS NOT NULL;
CREATE INDEX ix_memories_created ON memories (owner_id, created_at, id);
CREATE INDEX ix_memories_shared_space ON memories (space_id) WHERE visibility = 'shared';
CREATE INDEX ix_memories_subject ON memories (owner_id, subject_key);
CREATE UNIQUE INDEX uq_memories_place
    ON memories (owner_id, agent_id, space_id, place_id) NULLS NOT DISTINCT
    WHERE status = 'active' AND place_id IS NOT NULL;
CREATE UNIQUE INDEX uq_memories_statement
    ON memories (owner_id, agent_id, space_id, content_hash) NULLS NOT DISTINCT
    WHERE status = 'active';

CREATE TABLE memory_versions (
    owner_id UUID NOT NULL,
    memory_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    recorded_at timestamptz DEFAULT now() NOT NULL,
    superseded_at timestamptz,
    valid_from timestamptz,
    valid_to timestamptz,
    source TEXT DEFAULT 'manual' NOT NULL,
    platform TEXT,
    conversation_id UUID,
    message_id UUID,
    CONSTRAINT pk_memory_versions PRIMARY KEY (owner_id, memory_id, version),
    CONSTRAINT fk_memory_versions_owner_id_memory_id FOREIGN KEY(owner_id, memory_id) REFERENCES memories (owner_id, id) ON DELETE CASCADE
);
CREATE INDEX ix_memory_versions_message
    ON memory_versions (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE mentions (
    owner_id UUID NOT NULL,
    memory_id TEXT NOT NULL,
    id UUID NOT NULL,
    wording TEXT,
    agent_id UUID,
    source TEXT DEFAULT 'manual' NOT NULL,
    platform TEXT,
    conversation_id UUID,
    message_id UUID,
    mentioned_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_mentions PRIMARY KEY (owner_id, memory_id, id),
    CONSTRAINT fk_mentions_owner_id_memory_id FOREIGN KEY(owner_id, memory_id) REFERENCES memories (owner_id, id) ON DELETE CASCADE
);
CREATE INDEX ix_mentions_message ON mentions (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE associations (
    owner_id UUID NOT NULL,
    memory_id TEXT NOT NULL,
    target_owner_id UUID NOT NULL,
    target_id TEXT NOT NULL,
    relation TEXT NOT NULL,
    weight FLOAT DEFAULT '0.5' NOT NULL,
    shared_space_id UUID,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_associations PRIMARY KEY (owner_id, memory_id, target_owner_id, target_id, relation),
    CONSTRAINT fk_associations_owner_id_memory_id FOREIGN KEY(owner_id, memory_id) REFERENCES memories (owner_id, id) ON DELETE CASCADE,
    CONSTRAINT ck_associations_weight CHECK (weight BETWEEN 0 AND 1),
    CONSTRAINT ck_associations_relation CHECK (relation IN ('related_to', 'updates', 'contradicts', 'caused_by', 'result_of', 'part_of'))
);
CREATE INDEX ix_associations_strongest
    ON associations (owner_id, memory_id, weight, target_owner_id, target_id, relation);
CREATE INDEX ix_associations_target
    ON associations (target_owner_id, target_id, owner_id, weight, memory_id, relation);
CREATE INDEX ix_associations_shared ON associations
    (shared_space_id, target_owner_id, target_id, weight, owner_id, memory_id, relation)
    WHERE shared_space_id IS NOT NULL;
CREATE INDEX ix_associations_revising
    ON associations (owner_id, memory_id, weight, target_owner_id, target_id, relation)
    WHERE relation IN ('updates', 'contradicts');
CREATE INDEX ix_associations_revised
    ON associations (target_owner_id, target_id, owner_id, weight, memory_id, relation)
    WHERE relation IN ('updates', 'contradicts');

-- Conversations ---------------------------------------------------------------

CREATE TABLE conversations (
    id UUID NOT NULL,
    agent_id UUID,
    space_id UUID,
    visibility TEXT DEFAULT 'private' NOT NULL,
    title TEXT DEFAULT '' NOT NULL,
    platform TEXT,
    platform_conversation_id TEXT,
    opened_by UUID NOT NULL,
    message_count INTEGER DEFAULT 0 NOT NULL,
    summarised_to INTEGER DEFAULT 0 NOT NULL,
    paused_at timestamptz,
    metadata JSONB DEFAULT '{}' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_conversations PRIMARY KEY (id),
    CONSTRAINT ck_conversations_visibility CHECK (visibility IN ('private', 'shared'))
);
CREATE UNIQUE INDEX uq_conversations_platform
    ON conversations (platform, platform_conversation_id, agent_id) NULLS NOT DISTINCT
    WHERE platform_conversation_id IS NOT NULL;

CREATE TABLE participants (
    user_id UUID NOT NULL,
    conversation_id UUID NOT NULL,
    joined_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_participants PRIMARY KEY (user_id, conversation_id)
);
CREATE INDEX ix_participants_conversation_id ON participants (conversation_id);

CREATE TABLE messages (
    owner_id UUID NOT NULL,
    id UUID NOT NULL,
    conversation_id UUID NOT NULL,
    position INTEGER NOT NULL,
    agent_id UUID,
    space_id UUID,
    visibility TEXT DEFAULT 'private' NOT NULL,
    role TEXT NOT NULL,
    sender_name TEXT DEFAULT '' NOT NULL,
    content TEXT NOT NULL,
    platform TEXT,
    platform_message_id TEXT,
    off_record BOOLEAN DEFAULT false NOT NULL,
    metadata JSONB DEFAULT '{}' NOT NULL,
    sent_at timestamptz NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_messages PRIMARY KEY (owner_id, id),
    CONSTRAINT fk_messages_owner_id_conversation_id FOREIGN KEY(owner_id, conversation_id) REFERENCES participants (user_id, conversation_id) ON DELETE CASCADE,
    CONSTRAINT ck_messages_role CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    CONSTRAINT ck_messages_visibility CHECK (visibility IN ('private', 'shared'))
);
CREATE INDEX ix_messages_owner_position ON messages (owner_id, conversation_id, position);
CREATE INDEX ix_messages_position ON messages (conversation_id, position);

CREATE TABLE chunks (
    owner_id UUID NOT NULL,
    id UUID NOT NULL,
    conversation_id UUID NOT NULL,
    range_start INTEGER NOT NULL,
    range_end INTEGER NOT NULL,
    agent_id UUID,
    space_id UUID,
    visibility TEXT DEFAULT 'private' NOT NULL,
    content TEXT NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_chunks PRIMARY KEY (owner_id, id),
    CONSTRAINT fk_chunks_owner_id_conversation_id FOREIGN KEY(owner_id, conversation_id) REFERENCES participants (user_id, conversation_id) ON DELETE CASCADE,
    CONSTRAINT ck_chunks_range CHECK (range_start <= range_end),
    CONSTRAINT ck_chunks_visibility CHECK (visibility IN ('private', 'shared'))
);
CREATE UNIQUE INDEX uq_chunks_range
    ON chunks (owner_id, conversation_id, range_start, range_end);

-- What a conversation was told of memory at its start: which memories, in which version. Their
-- words stay where they are (docs/decisions/0020-context.md).

CREATE TABLE frozen_contexts (
    owner_id UUID NOT NULL,
    conversation_id UUID NOT NULL,
    agent_id UUID NOT NULL,
    time_zone TEXT NOT NULL,
    budget INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    digest BYTEA NOT NULL,
    left_out INTEGER NOT NULL,
    frozen_at timestamptz NOT NULL,
    CONSTRAINT pk_frozen_contexts PRIMARY KEY (owner_id, conversation_id, agent_id)
);

CREATE TABLE frozen_lines (
    owner_id UUID NOT NULL,
    conversation_id UUID NOT NULL,
    agent_id UUID NOT NULL,
    position INTEGER NOT NULL,
    memory_owner_id UUID NOT NULL,
    memory_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    category TEXT NOT NULL,
    subject TEXT,
    shared BOOLEAN NOT NULL,
    quoted BOOLEAN NOT NULL,
    mentions INTEGER NOT NULL,
    mentioned_in INTEGER NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT pk_frozen_lines PRIMARY KEY (owner_id, conversation_id, agent_id, position),
    CONSTRAINT fk_frozen_lines_owner_id_conversation_id_agent_id FOREIGN KEY(owner_id, conversation_id, agent_id) REFERENCES frozen_contexts (owner_id, conversation_id, agent_id) ON DELETE CASCADE
);
CREATE INDEX ix_frozen_lines_memory ON frozen_lines (memory_owner_id, memory_id);

-- Recall ----------------------------------------------------------------------

CREATE TABLE recall_items (
    owner_id UUID NOT NULL,
    id BIGINT GENERATED BY DEFAULT AS IDENTITY,
    length INTEGER NOT NULL,
    active BOOLEAN DEFAULT true NOT NULL,
    agent_id UUID,
    space_id UUID,
    visibility TEXT DEFAULT 'private' NOT NULL,
    superseded_at timestamptz,
    conversation_id UUID,
    position INTEGER,
    content_hash BYTEA NOT NULL,
    embedding HALFVEC NOT NULL,
    source_type TEXT NOT NULL,
    memory_id TEXT,
    memory_version INTEGER,
    source_id UUID,
    at timestamptz NOT NULL,
    recorded_at timestamptz DEFAULT now() NOT NULL,
    valid_from timestamptz,
    valid_to timestamptz,
    kind TEXT,
    category TEXT,
    importance FLOAT,
    CONSTRAINT pk_recall_items PRIMARY KEY (owner_id, id),
    CONSTRAINT ck_recall_items_source_type CHECK (source_type IN ('memory', 'message', 'chunk'))
);
CREATE INDEX ix_recall_items_conversation ON recall_items (conversation_id, position) WHERE position IS NOT NULL;
CREATE INDEX ix_recall_items_memory ON recall_items (owner_id, memory_id, memory_version);
CREATE INDEX ix_recall_items_shared_space ON recall_items (space_id) WHERE visibility = 'shared';
CREATE INDEX ix_recall_items_source ON recall_items (owner_id, source_id);

CREATE TABLE postings (
    owner_id UUID NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    item_id BIGINT NOT NULL,
    frequency SMALLINT NOT NULL,
    shared_space_id UUID,
    CONSTRAINT pk_postings PRIMARY KEY (owner_id, term, item_id)
);

CREATE TABLE reembeddings (
    owner_id UUID NOT NULL,
    item_id BIGINT NOT NULL,
    model TEXT NOT NULL,
    embedding HALFVEC NOT NULL,
    CONSTRAINT pk_reembeddings PRIMARY KEY (owner_id, item_id),
    CONSTRAINT fk_reembeddings_owner_id_item_id FOREIGN KEY(owner_id, item_id) REFERENCES recall_items (owner_id, id) ON DELETE CASCADE
);

CREATE TABLE embedding_model (
    singleton BOOLEAN DEFAULT true NOT NULL,
    name TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_embedding_model PRIMARY KEY (singleton),
    CONSTRAINT ck_embedding_model_one_row CHECK (singleton)
);

-- Keys, audit, repeated requests ----------------------------------------------

CREATE TABLE api_keys (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    user_id UUID,
    hash BYTEA NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT pk_api_keys PRIMARY KEY (id),
    CONSTRAINT ck_api_keys_role CHECK (role IN ('admin', 'service', 'user')),
    CONSTRAINT ck_api_keys_user CHECK ((role = 'user') = (user_id IS NOT NULL)),
    CONSTRAINT fk_api_keys_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT uq_api_keys_hash UNIQUE (hash)
);

CREATE TABLE audit_log (
    owner_id UUID NOT NULL,
    id UUID NOT NULL,
    at timestamptz DEFAULT now() NOT NULL,
    actor_role TEXT NOT NULL,
    actor_user_id UUID,
    actor_agent_id UUID,
    actor_key_id UUID,
    entry_point TEXT NOT NULL,
    action TEXT NOT NULL,
    target_ids TEXT[] NOT NULL,
    outcome TEXT DEFAULT 'done' NOT NULL,
    CONSTRAINT pk_audit_log PRIMARY KEY (owner_id, id)
);
CREATE INDEX ix_audit_log_at ON audit_log (owner_id, at);
CREATE INDEX ix_audit_log_everybody ON audit_log (at);


CREATE TABLE undo_records (
    owner_id UUID NOT NULL,
    id UUID NOT NULL,
    action TEXT NOT NULL,
    record JSONB NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    undone_at timestamptz,
    CONSTRAINT pk_undo_records PRIMARY KEY (owner_id, id)
);

CREATE TABLE idempotency_keys (
    owner_id UUID NOT NULL,
    action TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    answer JSONB,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (owner_id, action, key)
);
CREATE INDEX ix_idempotency_keys_created ON idempotency_keys (created_at);

-- The HNSW trap (docs/decisions/0003-schema.md) is why no vector index stands here. Vectors
-- stay in the row: reading them from TOAST costs more than comparing them.
ALTER TABLE recall_items ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE reembeddings ALTER COLUMN embedding SET STORAGE PLAIN;

INSERT INTO memory_policy DEFAULT VALUES;

-- Row-level security ----------------------------------------------------------------------
-- The second lock behind access.py. The service connects as remembrancer_app, which owns
-- nothing; each transaction says for whom it acts. Nothing said, nothing seen.

DO $$
BEGIN
    -- Asked first: an owner who may not create roles is given this one beforehand.
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'remembrancer_app') THEN
        CREATE ROLE remembrancer_app NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- roles belong to the cluster; another database made it
END
$$;
DO $$
BEGIN
    EXECUTE format('GRANT remembrancer_app TO %I', current_user);
EXCEPTION WHEN OTHERS THEN
    NULL;  -- a superuser needs no grant, and two first starts may collide here
END
$$;

CREATE FUNCTION app_user_id() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('app.user_id', true), '')::uuid;

-- user, service, admin, or system (the service's own bookkeeping); nothing unless set.
CREATE FUNCTION app_role() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(current_setting('app.role', true), '');

-- Says for whom the transaction acts, and returns who that is now: one who was merged into
-- somebody else acts as the survivor.
CREATE FUNCTION app_act_as(for_user uuid, in_role text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    survivor uuid;
BEGIN
    PERFORM set_config('app.role', 'system', true);
    SELECT coalesce(merged_into, id) INTO survivor FROM users WHERE id = for_user;
    survivor := coalesce(survivor, for_user);
    PERFORM set_config('app.user_id', coalesce(survivor::text, ''), true),
            set_config('app.role', in_role, true);
    RETURN survivor;
END
$$;

CREATE FUNCTION app_spaces() RETURNS uuid[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ARRAY(SELECT space_id FROM space_members WHERE user_id = app_user_id());

-- Who takes part in a conversation and through which agent: for those who do, and for an agent's
-- backend that names nobody. Null for everybody else.
CREATE FUNCTION app_conversation(
    which uuid, OUT participants uuid[], OUT agent_id uuid, OUT message_count int
) LANGUAGE plpgsql AS $$
DECLARE
    asking constant text := app_role();
    me     constant uuid := app_user_id();
BEGIN
    PERFORM set_config('app.role', 'system', true);
    SELECT ARRAY(SELECT p.user_id FROM participants AS p WHERE p.conversation_id = c.id),
           c.agent_id, c.message_count
      INTO participants, agent_id, message_count
      FROM conversations AS c
     WHERE c.id = which;
    PERFORM set_config('app.role', asking, true);
    IF NOT (me = ANY (participants) OR (me IS NULL AND asking IN ('service', 'admin'))) THEN
        participants := NULL; agent_id := NULL; message_count := NULL;
    END IF;
END
$$;

DO $$
DECLARE
    -- A scalar sub-select is evaluated once a statement, a bare call once a row.
    me       constant text := '(SELECT app_user_id())';
    system   constant text := '(SELECT app_role()) = ''system''';
    staff    constant text := '(SELECT app_role()) IN (''service'', ''admin'', ''system'')';
    shared   constant text := '''00000000-0000-0000-0000-000000000000''';
    writes   constant text := '(owner_id = ' || me || ' OR ' || staff || ')';
    changes  constant text := '(owner_id = ' || me || ' OR ' || system
                              || ' OR (owner_id = ' || shared || ' AND ' || staff || '))';
    readable text;
    placed   text;
    tab      text;
BEGIN
    FOREACH tab IN ARRAY ARRAY[
        'memories', 'messages', 'chunks', 'recall_items',
        'postings', 'memory_versions', 'mentions', 'associations', 'idempotency_keys'
    ] LOOP
        readable := 'owner_id = ' || me || ' OR owner_id = ' || shared || ' OR ' || system || CASE
            WHEN tab IN ('memories', 'chunks', 'recall_items') THEN
                ' OR (visibility = ''shared'' AND space_id = ANY ((SELECT app_spaces())::uuid[]))'
            WHEN tab = 'messages' THEN
                ' OR (visibility = ''shared'' AND space_id = ANY ((SELECT app_spaces())::uuid[]))'
                || ' OR EXISTS (SELECT FROM participants AS p WHERE p.user_id = ' || me
                || ' AND p.conversation_id = messages.conversation_id)'
            WHEN tab IN ('postings', 'associations') THEN
                ' OR shared_space_id = ANY ((SELECT app_spaces())::uuid[])'
            WHEN tab = 'idempotency_keys' THEN ''
            ELSE  -- what hangs on a memory is seen with it
                ' OR EXISTS (SELECT FROM memories AS m WHERE m.owner_id = ' || tab
                || '.owner_id AND m.id = ' || tab || '.memory_id)'
        END;
        -- Nobody puts anything before the members of a space who is not one of them.
        placed := CASE
            WHEN tab IN ('memories', 'messages', 'chunks', 'recall_items') THEN 'space_id'
            WHEN tab IN ('postings', 'associations') THEN 'shared_space_id'
        END;
        placed := coalesce(' AND (' || placed || ' IS NULL OR ' || staff
                           || CASE WHEN placed = 'space_id' THEN ' OR visibility = ''private''' ELSE '' END
                           || ' OR ' || placed || ' = ANY ((SELECT app_spaces())::uuid[]))', '');
        EXECUTE format('CREATE POLICY reading ON %I FOR SELECT USING (%s)', tab, readable);
        EXECUTE format('CREATE POLICY adding ON %I FOR INSERT WITH CHECK (%s%s)',
                       tab, writes, placed);
        EXECUTE format('CREATE POLICY changing ON %I FOR UPDATE USING %s WITH CHECK %s',
                       tab, changes, changes);
        EXECUTE format('CREATE POLICY removing ON %I FOR DELETE USING %s', tab, changes);
    END LOOP;

    EXECUTE 'CREATE POLICY own ON users USING (id = ' || me || ' OR ' || staff || ')';
    EXECUTE 'CREATE POLICY own ON platform_links USING (user_id = ' || me || ' OR ' || staff || ')';
    EXECUTE 'CREATE POLICY own ON undo_records USING (owner_id = ' || me || ' OR ' || system || ')';
    EXECUTE 'CREATE POLICY own ON memory_preferences USING (user_id = ' || me || ' OR ' || staff || ')';
    EXECUTE 'CREATE POLICY own ON participants USING (user_id = ' || me || ' OR ' || system || ')';
    EXECUTE 'CREATE POLICY own ON space_members USING (user_id = ' || me || ' OR ' || system || ')';
    EXECUTE 'CREATE POLICY member ON spaces USING (id = ANY ((SELECT app_spaces())::uuid[]) OR ' || system || ')';
    EXECUTE 'CREATE POLICY taking_part ON conversations USING (' || system
            || ' OR EXISTS (SELECT FROM participants AS p WHERE p.user_id = ' || me
            || ' AND p.conversation_id = conversations.id))';
    FOREACH tab IN ARRAY ARRAY['frozen_contexts', 'frozen_lines'] LOOP
        EXECUTE format('CREATE POLICY own ON %I USING (owner_id = %s OR owner_id = %s OR %s)'
                       || ' WITH CHECK (%s)', tab, me, shared, system, system);
    END LOOP;
    EXECUTE 'CREATE POLICY bookkeeping ON api_keys USING (' || system || ')';
    EXECUTE 'CREATE POLICY noting ON audit_log FOR INSERT WITH CHECK (true)';
    EXECUTE 'CREATE POLICY reading ON audit_log FOR SELECT USING (owner_id = ' || me || ' OR ' || system || ')';
    EXECUTE 'CREATE POLICY removing ON audit_log FOR DELETE USING (' || system || ')';
    EXECUTE 'CREATE POLICY bookkeeping ON reembeddings USING (' || system || ')';

    FOREACH tab IN ARRAY ARRAY[
        'users', 'platform_links', 'spaces', 'space_members', 'memory_preferences',
        'memories', 'memory_versions', 'mentions', 'associations',
        'conversations', 'participants', 'messages', 'chunks', 'frozen_contexts', 'frozen_lines',
        'recall_items', 'postings', 'reembeddings',
        'api_keys', 'audit_log', 'idempotency_keys', 'undo_records'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tab);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tab);
    END LOOP;
END
$$;

DO $$
DECLARE
    ours constant text := quote_ident(current_schema());
BEGIN
    EXECUTE 'GRANT USAGE ON SCHEMA ' || ours || ' TO remembrancer_app';
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ' || ours
            || ' TO remembrancer_app';
    EXECUTE 'GRANT USAGE ON ALL SEQUENCES IN SCHEMA ' || ours || ' TO remembrancer_app';
END
$$;

"""A store whose tables are in another schema than `public`."""

import asyncio
from pathlib import Path
from typing import Final

import psycopg
import pytest
from helpers import database_beside
from pydantic import SecretStr

from remembrancer import (
    ConversationCreate,
    MessageCreate,
    Remembrancer,
    ResolveUser,
    Settings,
    as_actor,
)
from remembrancer.backup import back_up, restore
from remembrancer.cli.doctor import check_store
from remembrancer.db.migrate import migrate, newest
from remembrancer.db.urls import APP_ROLE, service_url
from remembrancer.errors import DatabaseSetupError
from remembrancer.settings import EmbeddingSettings, SummarySettings

COUNTS: Final = """
SELECT (SELECT count(*) FROM acme.memories), (SELECT count(*) FROM acme.messages),
       (SELECT count(*) FROM acme.chunks), (SELECT count(*) FROM jobs.procrastinate_jobs),
       (SELECT count(*) FROM pg_tables WHERE schemaname = 'public')
"""


async def test_a_store_lives_in_the_current_schema_whatever_its_name(
    database_url: str, tmp_path: Path
) -> None:
    """Migrated, written, read, worked on, backed up and restored there; `public` is another's."""
    with database_beside(database_url, "elsewhere") as url:
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("CREATE SCHEMA acme")
            owner.execute(f"ALTER DATABASE {owner.info.dbname} SET search_path = acme, public")
            # A store in `public`, as far as the look-up of its revision sees.
            owner.execute("CREATE TABLE public.alembic_version (version_num text)")
            owner.execute("INSERT INTO public.alembic_version VALUES (%s)", [newest()])
            owner.execute(f"GRANT SELECT ON public.alembic_version TO {APP_ROLE}")
        settings = Settings(
            data_dir=tmp_path,
            database_url=SecretStr(service_url(url)),
            database_owner_url=SecretStr(url),
            embedding=EmbeddingSettings(threads=1),
            summaries=SummarySettings(messages=20, batch=4),
        )
        async with Remembrancer.open(settings=settings) as memory:
            ada = await memory.users.resolve(
                as_actor(),
                ResolveUser(platform="discord", platform_user_id="1", display_name="Ada"),
            )
            await memory.remember("I drink tea, never coffee.", user=ada)
            [hit] = (await memory.recall("What does Ada drink?", user=ada)).hits
            assert hit.content == "I drink tea, never coffee."
            talk = await memory.conversations.open(as_actor(ada), ConversationCreate())
            said = [MessageCreate(content=f"word {n}") for n in range(26)]
            await memory.conversations.append(as_actor(ada), talk.id, said)
            await memory.worker.run(once=True)
            findings = await check_store(memory)
            assert all(finding.good for finding in findings), findings
        with psycopg.connect(url) as owner:
            before = owner.execute(COUNTS).fetchone()
        assert before == (1, 26, 2, 1, 1)
        file = tmp_path / "store.backup"
        await asyncio.to_thread(back_up, url, file)
        await asyncio.to_thread(restore, url, file, replace=True)
        with psycopg.connect(url, autocommit=True) as owner:
            assert owner.execute(COUNTS).fetchone() == before
            # Two paths: the service would read another store than the owner migrates.
            owner.execute(
                f"ALTER ROLE {APP_ROLE} IN DATABASE {owner.info.dbname} SET search_path = public"
            )
            owner.execute("DROP TABLE public.alembic_version")
        with pytest.raises(DatabaseSetupError, match="search_path"):
            await asyncio.to_thread(migrate, url, service_url(url))

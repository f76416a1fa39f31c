"""All settings, with their defaults. No logic; only ``app.py`` reads them.

Each is an environment variable: ``REMEMBRANCER_`` and the names joined by two
underscores, such as ``REMEMBRANCER_EMBEDDING__PROVIDER``.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class DatabaseSettings(BaseModel):
    """How the database is reached and driven."""

    pool_size: int = Field(10, ge=1, le=500)
    """Connections kept open for requests."""
    start_timeout: float = Field(300.0, gt=0)
    """Seconds to wait for the embedded server, crash recovery included."""
    shared_buffers: str = Field("256MB", pattern=r"^\d+(kB|MB|GB)$")
    """Cache of the embedded server."""


class EmbeddingSettings(BaseModel):
    """Which model turns text into vectors."""

    provider: Literal["minilm", "openai"] = "minilm"
    """``minilm`` is bundled; ``openai`` is any endpoint that speaks that API."""
    model: str = "text-embedding-3-small"
    """Model name at the ``openai`` endpoint."""
    dimensions: int = Field(1536, ge=8, le=4000)
    """Vector size at the ``openai`` endpoint."""
    base_url: str = "https://api.openai.com/v1"
    """Base address of the ``openai`` endpoint."""
    api_key: SecretStr | None = None
    """Key for the ``openai`` endpoint, where it wants one."""
    batch_size: int = Field(64, ge=1, le=2048)
    """Texts per call to the model."""
    timeout: float = Field(30.0, gt=0)
    """Seconds to wait for one call to the endpoint."""
    threads: int = Field(0, ge=0, le=256)
    """Texts the bundled model embeds side by side; 0 means one per core."""
    query_cache: int = Field(2048, ge=0)
    """Query vectors kept in memory."""


class LimitSettings(BaseModel):
    """The limits every way in shares."""

    memory_characters: int = Field(2000, ge=1, le=100_000)
    """Longest content of a memory."""
    message_characters: int = Field(32_000, ge=1, le=1_000_000)
    """Longest content of a message."""
    batch: int = Field(1000, ge=1, le=10_000)
    """Most memories or messages in one request."""
    body_bytes: int = Field(16 * 1024 * 1024, ge=1024)
    """Largest HTTP request body."""
    requests_per_minute: int = Field(0, ge=0)
    """Requests a key may make each minute; 0 means no limit."""


class BudgetSettings(BaseModel):
    """How much is kept of a user before the least of it is evicted."""

    tokens: int = Field(10_000, ge=0, le=100_000_000)
    """Tokens (cl100k_base) that a user's memories may have; 0 means no limit."""


class RecallSettings(BaseModel):
    """Recall, where a deployment may reasonably differ."""

    near_duplicate: float = Field(0.95, ge=0.5, le=1.0)
    """Cosine similarity from which a new memory is a mention of an old one."""


class ToolSettings(BaseModel):
    """What models may do with the memory tools."""

    shared: bool = False
    """Whether ``memory_save`` may store what every user is told."""
    confirm: bool = False
    """Whether facts that the user has not confirmed to the model wait in review; places do not."""


GuardAction = Literal["allow", "redact", "block"]


class GuardSettings(BaseModel):
    """What is done about what should not be stored; in a message, ``block`` redacts."""

    secrets: GuardAction = "block"
    """Passwords, API keys, tokens and private keys."""
    cards: GuardAction = "block"
    """Numbers of payment cards."""
    national_ids: GuardAction = "redact"
    """Numbers that states give people."""
    iban: GuardAction = "redact"
    """Numbers of bank accounts."""


class AuditSettings(BaseModel):
    """What the audit log holds beside changes and refusals, and how long."""

    reads: Literal["all", "admin"] = "all"
    """Whose reads are noted: everybody's, or those of admins alone."""
    keep_days: int = Field(365, ge=0)
    """Days after which a line is removed; 0 keeps them for ever."""


class JobSettings(BaseModel):
    """Work that is done later."""

    in_server: bool = True
    """Whether ``serve`` works on jobs too; else ``remembrancer worker`` must run."""
    concurrency: int = Field(1, ge=1, le=64)
    """Jobs that one worker does at a time."""
    tries: int = Field(8, ge=1, le=50)
    """Tries until a job counts as failed."""
    first_wait: float = Field(2.0, ge=0, le=600)
    """Seconds until the second try; doubled for each one after it, up to 600."""
    heartbeat: float = Field(5.0, gt=0, le=300)
    """Seconds between a worker's signs of life; one that misses four is taken for dead."""
    sweep: float = Field(60.0, gt=0, le=86_400)
    """Seconds between looks for work that is not in the queue and should be."""


class SummarySettings(BaseModel):
    """When messages that leave the window are summarised, and how many at a time."""

    automatic: bool = True
    """Whether appending messages queues it; else only when asked to."""
    messages: int = Field(30, ge=20, le=10_000)
    """Most messages of a conversation that are left without a summary, the window included."""
    tokens: int = Field(3000, ge=100, le=1_000_000)
    """Most tokens, at 4 bytes each, of them before the window, and in one summary."""
    batch: int = Field(20, ge=1, le=1000)
    """Most messages in one summary."""


class LanguageModelSettings(BaseModel):
    """Which language model writes summaries and finds facts; without one, nobody does."""

    model: str = ""
    """Provider and model, such as ``openai:gpt-5-mini`` or ``ollama:qwen3``; empty for none."""
    base_url: str | None = None
    """Address of the provider, where it is not the usual one."""
    api_key: SecretStr | None = None
    """Key for the provider, where it wants one and its own environment variable is not set."""
    max_tokens: int = Field(2000, ge=100, le=100_000)
    """Most tokens of one answer; one that is cut off is asked for with fewer messages."""
    timeout: float = Field(120.0, gt=0, le=3600)
    """Seconds to wait for one answer."""
    retries: int = Field(2, ge=0, le=10)
    """Times a request is made again, be it that no answer came or that it did not fit."""


class ExtractionSettings(BaseModel):
    """What becomes of facts that a language model finds."""

    facts: bool = True
    """Whether facts are kept; else there are only summaries."""
    review: Literal["automatic", "confirm"] = "automatic"
    """``confirm``: a fact is recalled only once its user has confirmed it."""
    known: int = Field(12, ge=0, le=100)
    """Memories per person shown to the model, so that a change is an update of one."""


class ContextSettings(BaseModel):
    """What an agent is told, in tokens of ``cl100k_base``."""

    stable_tokens: int = Field(2000, ge=0, le=100_000)
    """Budget of the block that is frozen when a conversation starts."""
    dynamic_tokens: int = Field(1500, ge=0, le=100_000)
    """Budget of the block that is made anew for each message."""
    bulletin_tokens: int = Field(800, ge=0, le=100_000)
    """Budget of the bulletin of an agent."""
    recalled: int = Field(12, ge=0, le=50)
    """Most memories and messages recalled for a message."""
    summaries: int = Field(3, ge=0, le=20)
    """Most summaries recalled for a message."""
    high_importance: float = Field(0.7, ge=0, le=1)
    """Decayed importance from which a memory of the current speaker is told in a group."""
    templates: Path | None = None
    """Directory of templates that are used instead of the built-in ones of the same name."""


class McpSettings(BaseModel):
    """Whose memory ``remembrancer mcp`` shows, and where it lies."""

    url: str | None = None
    """A running server; without it, the database is opened."""
    key: SecretStr | None = None
    """API key for that server."""
    user: str | None = None
    """A user: id, ``platform:platform_user_id``, or a name that only one has."""
    agent: str | None = None
    """An agent: id, or a name that only one has."""


class ServerSettings(BaseModel):
    """Where ``serve`` listens."""

    host: str = "127.0.0.1"
    """Address to bind; stays on this machine unless changed."""
    port: int = Field(8420, ge=0, le=65535)
    """Port to bind; 0 picks a free one."""
    public_url: str | None = None
    """Address people reach the server at, when behind a proxy."""


class Settings(BaseSettings):
    """Settings of one Remembrancer process."""

    model_config = SettingsConfigDict(
        env_prefix="REMEMBRANCER_",
        env_nested_delimiter="__",
        extra="ignore",
    )

    data_dir: Path = Path("~/.local/share/remembrancer")
    """Embedded database, admin key and other state of this machine."""
    database_url: SecretStr | None = None
    """A Postgres 16+ with pgvector to use instead of the embedded one."""
    database: DatabaseSettings = DatabaseSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    limits: LimitSettings = LimitSettings()
    budget: BudgetSettings = BudgetSettings()
    recall: RecallSettings = RecallSettings()
    tools: ToolSettings = ToolSettings()
    guard: GuardSettings = GuardSettings()
    jobs: JobSettings = JobSettings()
    summaries: SummarySettings = SummarySettings()
    llm: LanguageModelSettings = LanguageModelSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    context: ContextSettings = ContextSettings()
    server: ServerSettings = ServerSettings()
    mcp: McpSettings = McpSettings()
    audit: AuditSettings = AuditSettings()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe log line printed; content is never logged."""

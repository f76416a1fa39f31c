"""All settings with their defaults. Only ``app.py`` reads them.

Each is an environment variable: ``REMEMBRANCER_`` and the names, joined by two
underscores, such as ``REMEMBRANCER_EMBEDDING__PROVIDER``. Each may be in a settings file too.
"""

import string
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal, TypedDict

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    SecretStr,
    field_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from remembrancer.settings_file import PREFIX, SettingsFile, Variables

MAIN: Final = "main"
"""The server of ``database_url``, or the embedded one."""
_SMALL: Final = {*string.ascii_lowercase, *string.digits, "-"}
_LONGEST: Final = 40


def check_small_name(name: object) -> object:
    """Refuse a name of a workspace or server that has other characters, or too many."""
    if isinstance(name, str) and not (
        0 < len(name) <= _LONGEST and name[0] != "-" and set(name) <= _SMALL
    ):
        raise ValueError(
            f"must have small letters, digits and hyphens, at most {_LONGEST}, and begin with a"
            " letter or digit"
        )
    return name


ServerName = Annotated[
    str, BeforeValidator(check_small_name), Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
]


class DatabaseSettings(BaseModel):
    """Database connections and the embedded server."""

    pool_size: int = Field(10, ge=1, le=500)
    """Connections kept open for requests."""
    start_timeout: float = Field(300.0, gt=0)
    """Seconds to wait for the embedded server, crash recovery included."""
    shared_buffers: str = Field("256MB", pattern=r"^\d+(kB|MB|GB)$")
    """Cache of the embedded server."""
    slow_query_ms: int = Field(0, ge=0, le=3_600_000)
    """Milliseconds from which a round trip to the database is logged, with the plans of its
    statements; 0 logs none."""


class EmbeddingSettings(BaseModel):
    """The embedding model."""

    provider: Literal["minilm", "bge", "openai"] = "minilm"
    """``minilm`` is bundled; ``bge`` comes with the extra of that name; ``openai`` is any endpoint
    with that API."""
    model: str = "text-embedding-3-small"
    """Model name at the ``openai`` endpoint."""
    dimensions: int = Field(1536, ge=8, le=4000)
    """Vector size at the ``openai`` endpoint."""
    base_url: str = "https://api.openai.com/v1"
    """Base address of the ``openai`` endpoint."""
    api_key: SecretStr | None = None
    """Key for the ``openai`` endpoint, if it needs one."""
    batch_size: int = Field(64, ge=1, le=2048)
    """Texts per call to the model."""
    timeout: float = Field(30.0, gt=0)
    """Seconds to wait for one call to the endpoint."""
    threads: int = Field(0, ge=0, le=256)
    """Texts that ``minilm`` or ``bge`` embeds in parallel; 0 means one per core."""
    query_cache: int = Field(2048, ge=0)
    """Query vectors in the memory cache."""


class LimitSettings(BaseModel):
    """Limits of all entry points."""

    memory_characters: int = Field(2000, ge=1, le=100_000)
    """Maximum characters of a memory."""
    message_characters: int = Field(32_000, ge=1, le=1_000_000)
    """Maximum characters of a message."""
    batch: int = Field(1000, ge=1, le=10_000)
    """Maximum memories or messages in one request."""
    body_bytes: int = Field(1024 * 1024, ge=1024)
    """Maximum bytes of an HTTP request body."""
    upload_bytes: int = Field(64 * 1024 * 1024, ge=1024, le=512 * 1024 * 1024)
    """Maximum bytes of a file that the pages import."""
    batch_bytes: int = Field(16 * 1024 * 1024, ge=1024)
    """Maximum bytes of a body with many memories, messages or preferences."""
    body_seconds: float = Field(20.0, gt=0, le=3600)
    """Seconds for a body to arrive, and one more for each ``body_rate`` bytes of it."""
    body_rate: int = Field(10_000, ge=1)
    """Minimum bytes per second of a body, after ``body_seconds``."""
    requests_per_minute: int = Field(0, ge=0)
    """Requests per key and minute; 0 means no limit."""
    sign_ins_per_minute: int = Field(20, ge=0)
    """Sign-ins in the pages per address and minute, and failed ones per user; 0 means no limit."""
    requests_at_once: int = Field(500, ge=1)
    """Requests that each process works on; it answers further ones with 503."""


class BudgetSettings(BaseModel):
    """Token budget per user; over it, the least important memories are evicted."""

    tokens: int = Field(10_000, ge=0, le=100_000_000)
    """Maximum tokens (cl100k_base) of a user's memories; 0 means no limit."""


class RecallSettings(BaseModel):
    """Memories that are alike."""

    near_duplicate: float = Field(0.95, ge=0.5, le=1.0)
    """Minimum cosine similarity at which a memory that differs in a word contradicts another."""


class RerankSettings(BaseModel):
    """Rerank of the best candidates of a recall by an endpoint, which gets their texts."""

    provider: Literal["off", "cohere", "jina", "tei"] = "off"
    """API of the endpoint; ``tei`` is Text Embeddings Inference."""
    url: HttpUrl | None = None
    """Whole address of the endpoint, if it is not the provider's own."""
    api_key: SecretStr | None = None
    """Key for the endpoint, if it needs one."""
    model: str = ""
    """Model at the endpoint; TEI has only one."""
    candidates: int = Field(30, ge=2, le=200)
    """Candidates that each recall sends."""
    timeout: float = Field(3.0, gt=0, le=60)
    """Seconds after which a recall goes on without the endpoint."""


class ToolSettings(BaseModel):
    """Permissions of models that use the memory tools."""

    shared: bool = False
    """Whether ``memory_save`` may store memories for all users."""
    confirm: bool = False
    """Whether facts without the user's confirmation are pending in review; places never are."""


GuardAction = Literal["allow", "redact", "block"]


class GuardSettings(BaseModel):
    """Action of the guard for each kind of sensitive text; in a message, ``block`` redacts."""

    secrets: GuardAction = "block"
    """Passwords, API keys, tokens and private keys."""
    cards: GuardAction = "block"
    """Numbers of payment cards."""
    national_ids: GuardAction = "redact"
    """National ids of persons."""
    iban: GuardAction = "redact"
    """Numbers of bank accounts."""


class AuditSettings(BaseModel):
    """Reads in the audit log."""

    reads: Literal["all", "admin"] = "all"
    """Logged reads: those of everybody, or only those of admins."""


Days = Annotated[int, Field(ge=0, le=36_500)]


class RetentionSettings(BaseModel):
    """Days until rows are removed for good; 0 means never."""

    messages: Days = 0
    """Days until a message is removed, after it was stored; memories made of it stay."""
    evicted: Days = 0
    """Days until an evicted memory is erased."""
    forgotten: Days = 0
    """Days until a forgotten memory is erased, with the messages that it withholds."""
    versions: Days = 0
    """Days until a version of a memory is removed, after a newer one replaced it."""
    undo: Days = 0
    """Days in which a move, a merge or the forgetting of many memories can be undone."""
    audit: Days = 400
    """Days until a line of the audit log is removed, at the end of a month."""
    usage: Days = 400
    """Days until the usage of a day is removed."""
    jobs: Days = 1
    """Days until a job is removed that succeeded or was cancelled."""
    failed_jobs: Days = 30
    """Days until a failed job is removed."""
    sessions: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days until a browser has to sign in again."""
    uploads: Days = 7
    """Days until an export that was given to the pages is removed."""
    idempotency_keys: Annotated[int, Field(ge=1, le=3650)] = 1
    """Days in which a repeated request gets the same answer."""


class JobSettings(BaseModel):
    """Background jobs."""

    in_server: bool = True
    """Whether ``serve`` and ``Memory`` also run jobs; else run ``remembrancer worker``."""
    concurrency: int = Field(1, ge=1, le=64)
    """Parallel jobs per worker."""
    tries: int = Field(8, ge=1, le=50)
    """Tries before a job fails."""
    first_wait: float = Field(2.0, ge=0, le=600)
    """Seconds before the second try; doubled for each further try, up to 600."""
    heartbeat: float = Field(5.0, gt=0, le=300)
    """Seconds between the heartbeats of a worker; after four missed ones it counts as dead."""
    sweep: float = Field(60.0, gt=0, le=86_400)
    """Seconds between checks for failed jobs whose work is still due."""


class SummarySettings(BaseModel):
    """Summaries of the messages before the window."""

    automatic: bool = True
    """Whether new messages queue a summary; without it, only a request does."""
    messages: int = Field(30, ge=20, le=10_000)
    """Maximum messages of a conversation without a summary, including the window."""
    tokens: int = Field(3000, ge=100, le=1_000_000)
    """Maximum tokens, at 4 bytes each, of messages before the window and of one summary's input."""
    batch: int = Field(20, ge=1, le=1000)
    """Maximum messages in one summary."""


class LanguageModelSettings(BaseModel):
    """Language model for summaries, facts and ``remembrancer chat``; empty disables them."""

    model: str = ""
    """Provider and model, such as ``openai:gpt-5-mini`` or ``ollama:qwen3``."""
    base_url: str | None = None
    """Address of the provider, if it is not the default one."""
    api_key: SecretStr | None = None
    """Key for the provider; by default, the provider's own environment variable."""
    max_tokens: int = Field(2000, ge=100, le=100_000)
    """Maximum tokens of an answer; a longer one is requested again with fewer messages."""
    timeout: float = Field(120.0, gt=0, le=3600)
    """Seconds to wait for one answer."""
    retries: int = Field(2, ge=0, le=10)
    """Retries after a failed request or an answer that does not fit."""


class ExtractionSettings(BaseModel):
    """Facts extracted by the language model."""

    facts: bool = True
    """Whether to store facts; without it, there are only summaries."""
    review: Literal["automatic", "confirm"] = "automatic"
    """``confirm``: a fact is pending until its user confirms it."""
    known: int = Field(12, ge=0, le=100)
    """Memories per person shown to the model, so that it can update them."""


class ContextSettings(BaseModel):
    """Context blocks, in tokens of ``cl100k_base``."""

    stable_tokens: int = Field(2000, ge=0, le=100_000)
    """Budget of the stable block, frozen when a conversation starts."""
    pause_minutes: int = Field(60, ge=1, le=100_000)
    """Minutes without a message after which the stable block is frozen anew."""
    most_changes: int = Field(30, ge=1, le=200)
    """Maximum new or changed memories in the dynamic block; with more, the stable block is frozen
    anew."""
    dynamic_tokens: int = Field(1500, ge=0, le=100_000)
    """Budget of the dynamic block, new for each message."""
    bulletin_tokens: int = Field(800, ge=0, le=100_000)
    """Budget of an agent's bulletin."""
    recalled: int = Field(14, ge=0, le=50)
    """Maximum memories and messages recalled for a message."""
    summaries: int = Field(3, ge=0, le=20)
    """Maximum summaries recalled for a message."""
    min_relevance: float = Field(0.15, ge=0, le=1)
    """Minimum relevance of what is recalled for a message; 0 recalls the nearest, whatever it is
    about."""
    high_importance: float = Field(0.7, ge=0, le=1)
    """Minimum decayed importance of the current speaker's memories in a group's context."""
    templates: Path | None = None
    """Directory of templates that replace the built-in ones of the same name."""


class ToolSet(StrEnum):
    """The tools that an MCP client lists."""

    SMALL = "small"
    """``add_to_memory`` and ``memory_recall``, with few arguments: for small models."""
    DEFAULT = "default"
    """With ``update_memory`` and ``forget_memory``, and the arguments that most calls need."""
    ALL = "all"


class McpSettings(BaseModel):
    """Server, user, agent and tools of MCP."""

    url: str | None = None
    """URL of a running server; without it, the command opens the database."""
    key: SecretStr | None = None
    """API key for that server."""
    user: str | None = None
    """A user: id, ``platform:platform_user_id``, or a unique name."""
    agent: str | None = None
    """An agent: id or a unique name."""
    tools: ToolSet = ToolSet.DEFAULT
    """Tools that a client lists, at ``/mcp`` too, unless it chooses: small, default or all."""


class ServerSettings(BaseModel):
    """Address of ``serve``."""

    host: str = "127.0.0.1"
    """Address to bind; by default, only this machine can connect."""
    port: int = Field(8420, ge=0, le=65535)
    """Port to bind; 0 picks a free one."""
    public_url: str | None = None
    """Public address of the server behind a proxy."""
    workers: int = Field(1, ge=1, le=64)
    """Processes that answer, each on a core of its own."""
    languages: Path | None = None
    """Directory with more languages for the pages: a file for each, such as ``fr.po``."""


class WorkspaceServer(BaseModel):
    """A Postgres server that holds workspaces."""

    model_config = ConfigDict(extra="forbid")

    url: SecretStr
    """Address of any database there, for the service, such as
    ``postgresql://remembrancer_app:…@db2/postgres``."""
    owner_url: SecretStr | None = None
    """The same for who may create databases; by default ``url``."""
    replica_url: SecretStr | None = None
    """The same on a streaming replica of that server, which takes lists and statistics."""


class WorkspaceSettings(BaseModel):
    """Workspaces: tenants, each in a database of its own."""

    servers: dict[ServerName, WorkspaceServer] = {}
    """Further Postgres servers by name; ``main`` is that of ``database_url``, or the embedded
    one."""
    opened: int = Field(50, ge=1, le=10_000)
    """Workspaces that each process keeps open, beside the default one."""
    pool_size: int = Field(4, ge=1, le=100)
    """Connections of each workspace."""
    connections: int = Field(40, ge=2, le=10_000)
    """Connections of all workspaces of one server together in each process, those to its replica
    among them, beside those of the default one. A workspace whose background jobs run has up to
    four more."""
    migrate_on_use: bool = True
    """Whether an older workspace is migrated when somebody uses it; else it is refused until
    ``remembrancer workspaces migrate`` has run."""

    @field_validator("servers")
    @classmethod
    def _check_servers(cls, servers: dict[str, WorkspaceServer]) -> dict[str, WorkspaceServer]:
        if MAIN in servers:
            raise ValueError(f"{MAIN} is the server of database_url; choose another name")
        return servers


class OidcSettings(BaseModel):
    """Tokens of an identity provider (OpenID Connect), which act like keys of their users."""

    issuer: str = ""
    """The provider, as its tokens name it (``iss``); empty accepts no tokens."""
    audience: str = ""
    """What a token must be made for (``aud``); required with an issuer, unless
    ``server.public_url`` is set, whose ``/mcp`` tokens may be for too."""
    jwks_url: HttpUrl | None = None
    """Address of the provider's keys; by default, what its discovery document names."""
    algorithms: str = Field(
        "RS256,ES256", pattern=r"^([RPE]S(256|384|512)|EdDSA)(,([RPE]S(256|384|512)|EdDSA))*$"
    )
    """Accepted algorithms of signatures, with commas between them."""
    leeway: float = Field(30.0, ge=0, le=300)
    """Seconds by which the clocks of provider and server may differ."""
    keys_seconds: float = Field(3600.0, ge=60, le=86_400)
    """Seconds until the provider's keys are fetched again."""
    refetch_seconds: float = Field(30.0, ge=0, le=3600)
    """Minimum seconds between two fetches; a token with an unknown key asks for one."""
    platform: str = Field("oidc", pattern=r"^[^\s:]{1,50}$")
    """Platform of the ids in tokens."""
    user_claim: str = "sub"
    """Claim with the user's id on that platform."""
    role_claim: str = ""
    """Claim that must have ``role``, alone, in a list or between spaces; empty asks for none."""
    role: str = "user"
    """What ``role_claim`` must have."""
    agent_claim: str = ""
    """Claim with the id of the agent for requests that name none; empty for no claim."""
    workspace_claim: str = ""
    """Claim with the name of the workspace that a token is for; empty: all are for ``default``."""
    create_users: bool = False
    """Whether a token of an unknown user creates the user; else it is refused."""


class Settings(BaseSettings):
    """Settings of one Remembrancer process.

    Arguments come before the environment, and the environment before the settings file. Raises
    ``ConfigurationError`` for a name or value in that file that is wrong, and pydantic's
    ``ValidationError`` for any other wrong value.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="ignore",
    )

    settings: Path | None = None
    """The settings file, in TOML; without a name, ``remembrancer.toml`` in the working directory,
    if it is there. As an argument, null means no file."""
    data_dir: Path = Path("~/.local/share/remembrancer")
    """Directory of the embedded database, the admin key and other local state."""
    database_url: SecretStr | None = None
    """Postgres 16 or newer with pgvector, to use instead of the embedded one."""
    database_owner_url: SecretStr | None = None
    """The same database for the owner of its tables: migrations, backup and restore use it."""
    database_replica_url: SecretStr | None = None
    """A streaming replica of ``database_url``, which takes lists and statistics, also of the
    workspaces there."""
    workspace: str = "default"
    """The workspace that commands, ``mcp`` and the library work on; a server serves all."""
    database: DatabaseSettings = DatabaseSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    limits: LimitSettings = LimitSettings()
    budget: BudgetSettings = BudgetSettings()
    recall: RecallSettings = RecallSettings()
    rerank: RerankSettings = RerankSettings()
    tools: ToolSettings = ToolSettings()
    guard: GuardSettings = GuardSettings()
    jobs: JobSettings = JobSettings()
    summaries: SummarySettings = SummarySettings()
    llm: LanguageModelSettings = LanguageModelSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    context: ContextSettings = ContextSettings()
    server: ServerSettings = ServerSettings()
    workspaces: WorkspaceSettings = WorkspaceSettings()
    oidc: OidcSettings = OidcSettings()
    mcp: McpSettings = McpSettings()
    audit: AuditSettings = AuditSettings()
    retention: RetentionSettings = RetentionSettings()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum level of log lines; content is never logged."""
    log_format: Literal["text", "json"] = "text"
    """``json`` has one object a line, with ids, and a line for each request."""
    traces: bool = False
    """Whether spans are sent by OpenTelemetry, to where the variables ``OTEL_…`` say."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of settings, the one that decides first."""
        del env_settings
        variables, file = Variables(settings_cls), SettingsFile(settings_cls)
        return init_settings, variables, dotenv_settings, file_secret_settings, file


class Place(TypedDict, total=False):
    """Settings that say where the store is."""

    settings: Path | None
    data_dir: Path
    database_url: SecretStr | None
    database_owner_url: SecretStr | None
    database_replica_url: SecretStr | None
    workspace: str


def place(data_dir: str | Path | None, database_url: str | None) -> Place:
    """Return the settings that say where the store is. A directory alone has its own database.

    The owner's address of another database is not that of this one.
    """
    given: Place = {}
    if data_dir or database_url:
        given = {"database_url": None, "database_owner_url": None, "database_replica_url": None}
    if data_dir:
        given["data_dir"] = Path(data_dir)
    if database_url:
        given["database_url"] = SecretStr(database_url)
    return given

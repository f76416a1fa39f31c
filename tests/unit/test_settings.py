"""Settings come from arguments, the environment and a file, and what is wrong there is named."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError

from remembrancer import Settings
from remembrancer.cli.explanations import explain
from remembrancer.errors import ConfigurationError
from remembrancer.settings import place


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "remembrancer.toml") -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def test_arguments_come_before_the_environment_and_that_before_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each setting by itself: a group may have values of all three."""
    write(here, 'log_level = "debug"\n[server]\nhost = "0.0.0.0"\nport = 1\nworkers = 3\n')
    monkeypatch.setenv("REMEMBRANCER_SERVER__PORT", "2")
    monkeypatch.setenv("REMEMBRANCER_LOG_LEVEL", "warning")
    settings = Settings(log_level="error")
    server = settings.server
    assert (settings.log_level, server.host, server.port, server.workers) == (
        "error",
        "0.0.0.0",  # noqa: S104 - nothing is bound
        2,
        3,
    )
    assert settings.embedding == Settings(settings=None).embedding


def test_the_file_is_named_or_lies_in_the_working_directory(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An argument names it before the variable does; null means none."""
    assert Settings().settings is None
    found = write(here, "[budget]\ntokens = 1\n")
    named = write(here, "[budget]\ntokens = 2\n", "named.toml")
    assert Settings().settings == found
    assert Settings().budget.tokens == 1
    monkeypatch.setenv("REMEMBRANCER_SETTINGS", str(named))
    assert Settings().budget.tokens == 2
    assert Settings(settings=found).budget.tokens == 1
    assert Settings(settings=None).budget.tokens == 10_000
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml cannot be read: no such file"):
        Settings(settings=here / "nowhere.toml")


def test_paths_are_seen_from_the_directory_of_the_file(here: Path) -> None:
    """So the same file means the same data wherever a command runs."""
    folder = here / "etc"
    folder.mkdir()
    file = write(folder, 'data_dir = "data"\n[context]\ntemplates = "/srv/templates"\n')
    settings = Settings(settings=file)
    assert settings.data_dir == folder / "data"
    assert settings.context.templates == Path("/srv/templates")
    assert Settings(settings=write(folder, 'data_dir = "~/x"\n')).data_dir == Path.home() / "x"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[server]\nprot = 1", "server.prot is not a setting; did you mean server.port?"),
        ("[serve]\nport = 1", "serve is not a setting; did you mean server?"),
        ('databse_url = "x"', "databse_url is not a setting; did you mean database_url?"),
        ("[server.port]\nx = 1", "server.port: "),
        (
            '[workspaces.servers.two]\nurll = "x"',
            "workspaces.servers.two.urll is not a setting; did you mean workspaces.servers.two.url",
        ),
        (
            '[workspaces.servers.main]\nurl = "x"',
            "workspaces.servers: main is the server of database_url; choose another name",
        ),
        ("zzzzzz = 1", "zzzzzz is not a setting; leave it out"),
        ('settings = "other.toml"', "settings is not a setting; "),
        ("server = 5", "server: "),
        ("[server]\nport = 70000", "server.port: must be less than or equal to 65535"),
        ('[llm]\napi_key = ["hush"]', "llm.api_key: "),
        ("data_dir = 5", "data_dir: "),
        ('log_level = "loud"', "log_level: "),
        ("[server\nport = 1", "is not valid TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_named(here: Path, text: str, told: str) -> None:
    """The file, the key and what is wrong with it, but no value."""
    file = write(here, text)
    with pytest.raises(ConfigurationError) as refused:
        Settings()
    assert str(refused.value).startswith(f"{file}: {told}")
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("SERVER__PROT", "did you mean REMEMBRANCER_SERVER__PORT?"),
        ("SERVR__PORT", "did you mean REMEMBRANCER_SERVER__PORT?"),
        ("DATABSE_URL", "did you mean REMEMBRANCER_DATABASE_URL?"),
        ("PORT", "did you mean REMEMBRANCER_SERVER__PORT?"),
        ("ZZZZZZ", "unset it"),
        (
            "WORKSPACES__SERVERS__TWO__URLL",
            "did you mean REMEMBRANCER_WORKSPACES__SERVERS__TWO__URL?",
        ),
    ],
)
def test_a_variable_that_is_no_setting_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, variable: str, told: str
) -> None:
    """As in the file: a server on another port than the one that was meant helps nobody."""
    monkeypatch.setenv(f"REMEMBRANCER_{variable}", "1234")
    with pytest.raises(ConfigurationError) as refused:
        Settings()
    assert str(refused.value) == f"REMEMBRANCER_{variable} is not a setting; {told}"


def test_a_variable_in_json_has_known_names_too(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMEMBRANCER_SERVER", '{"prot": 1}')
    with pytest.raises(ConfigurationError, match="REMEMBRANCER_SERVER__PROT is not a setting"):
        Settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KEY", "rmb_x"),
        ("URL", "http://127.0.0.1:8420"),
        ("SERVICE_HOST", "10.0.0.1"),
        ("SERVICE_PORT_HTTP", "8420"),
        ("PORT", "tcp://10.0.0.1:8420"),
        ("PORT_8420_TCP_ADDR", "10.0.0.1"),
        ("DATABASE_SERVICE_HOST", "10.0.0.2"),
    ],
)
def test_variables_of_clients_and_of_kubernetes_are_no_mistakes(
    here: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """What the examples take, and what a pod gets for a service named `remembrancer`."""
    monkeypatch.setenv(f"REMEMBRANCER_{variable}", value)
    assert Settings().server.port == Settings(settings=None).server.port


def test_a_file_that_is_no_text_is_refused(here: Path) -> None:
    """Bytes that are not UTF-8, and a directory."""
    (here / "remembrancer.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="not a text in UTF-8"):
        Settings()
    with pytest.raises(ConfigurationError, match="cannot be read: is a directory"):
        Settings(settings=here)


def test_a_data_directory_alone_has_a_database_of_its_own(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever file and environment say of another database: else a restore could hit that."""
    write(here, 'database_url = "postgresql://file/x"\n')
    assert Settings(**place(None, None)).database_url is not None
    assert Settings(**place("data", None)).database_url is None
    both = Settings(**place("data", "postgresql://argument/x")).database_url
    assert both is not None
    assert "argument" in both.get_secret_value()


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        ('{"two": ', 'error parsing value for field "workspaces": it is not valid JSON'),
        ('{"Two": {"url": "postgresql://db2/x"}}', "small letters, digits and hyphens"),
        (
            '{"two": {"url": "postgresql://db2/x", "owner_ur": ""}}',
            "did you mean REMEMBRANCER_WORKSPACES__SERVERS__TWO__OWNER_URL?",
        ),
    ],
)
def test_wrong_servers_of_workspaces_are_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, servers: str, reason: str
) -> None:
    monkeypatch.setenv("REMEMBRANCER_WORKSPACES__SERVERS", servers)
    with pytest.raises((ValidationError, SettingsError, ConfigurationError)) as refused:
        Settings()
    told = explain(refused.value)
    assert told is not None
    assert reason in told
    assert "\n" not in told
    assert "db2" not in told

"""Commands as a person runs them, on a store that a server holds open meanwhile."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import randrange
from typing import Any

import psycopg
import pytest
from scripted import Reply, Scripted

from remembrancer.cli import main
from remembrancer.db.embedded import EmbeddedPostgres

COMMAND = [sys.executable, "-m", "remembrancer"]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A data directory whose database runs, so that commands share it and start fast."""
    data_dir = tmp_path_factory.mktemp("cli") / "data"
    with EmbeddedPostgres(data_dir, shared_buffers="32MB") as running:
        yield data_dir, running.start()


@pytest.fixture
def cli(
    server: tuple[Path, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Cli:
    # What runs the tests side by side says how wide its own terminal is.
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["--data-dir", str(server[0]), *map(str, arguments)])
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def count(server: tuple[Path, str]) -> Callable[[str], int]:
    def rows(table: str) -> int:
        with psycopg.connect(server[1]) as connection:
            found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert found
            return int(found[0])

    return rows


def locomo(path: Path, name: str, speakers: tuple[str, str], texts: list[str]) -> Path:
    session = [
        {"speaker": speakers[at % 2], "dia_id": f"D1:{at + 1}", "text": text}
        for at, text in enumerate(texts)
    ]
    conversation = {
        "speaker_a": speakers[0],
        "speaker_b": speakers[1],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": session,
    }
    path.write_text(json.dumps([{"sample_id": name, "conversation": conversation}]))
    return path


def refused(ran: Ran) -> str:
    """The one line on stderr of a refused command."""
    assert ran.code == 2, ran
    assert ran.out == ""
    [line] = ran.err.splitlines()
    return line


def test_what_is_imported_is_recalled(cli: Cli, count: Any, tmp_path: Path) -> None:
    """Both speakers recall what either said; again changes nothing."""
    said = [
        "I went to the pottery fair yesterday.",
        "How lovely! Did you buy anything?",
        "A blue teapot for my grandmother Odile.",
        "I adopted a greyhound called Biscuit last week.",
    ]
    file = locomo(tmp_path / "l.json", "conv-a", ("Ines", "Tomas"), said)
    first = cli("import", file)
    assert first.code == 0, first.err
    assert [line.split()[0] for line in first.out.splitlines()] == ["1", "4", "0", "2"]
    before = {table: count(table) for table in ("messages", "recall_items", "spaces", "users")}
    again = cli("import", file)
    assert [line.split()[0] for line in again.out.splitlines()] == ["1", "0", "4", "2"]
    assert before == {table: count(table) for table in before}
    for name in ("Ines", "tomas", "locomo:conv-a:Tomas"):
        hits = cli("recall", "Who got a teapot?", "--user", name, "--json").json["hits"]
        assert hits[0]["content"] == said[2]
        assert len(hits) == 4
    least = ("--user", "Tomas", "--min-relevance", "0.15", "--json")
    assert cli("recall", "Who got a teapot?", *least).json["hits"]
    assert cli("recall", "What is the capital of France?", *least).json["hits"] == []
    shown = cli("recall", "Who got a teapot?", "--user", "Tomas").out
    assert "Ines" in shown
    assert "teapot)" in shown
    assert "2023-05-08 13:56" in shown


def test_recall_is_for_the_user_that_is_named(cli: Cli, tmp_path: Path) -> None:
    """Without a user there is only shared knowledge; a stranger gets nothing of others."""
    cli("users", "resolve", "discord", "lone-1", "--name", "Lone")
    cli("remember", "The tide table hangs by the door.", "--shared")
    cli("remember", "Lone keeps bees on the roof.", "--user", "Lone")
    nobody = cli("recall", "bees and tides", "--json").json["hits"]
    assert [hit["content"] for hit in nobody] == ["The tide table hangs by the door."]
    lone = cli("recall", "bees and tides", "--user", "discord:lone-1", "--json").json["hits"]
    assert len(lone) == 2


def test_a_name_that_several_have_is_not_guessed(cli: Cli) -> None:
    """An ambiguous or unknown name lists who could be meant."""
    for number in (1, 2):
        cli("users", "resolve", "discord", f"kim-{number}", "--name", "Kim")
    line = refused(cli("recall", "x", "--user", "Kim"))
    assert line.startswith("error: user: several users have this name: Kim (discord:kim-1), Kim")
    assert "no user has this name; users are" in refused(cli("recall", "x", "--user", "Nemo"))
    cli("agents", "create", "Nora")
    line = refused(cli("recall", "x", "--agent", "Nemo"))
    assert "no agent has this name; agents are" in line


def test_a_bad_file_stops_everything_before_the_first_write(
    cli: Cli, count: Any, tmp_path: Path
) -> None:
    """With a good file and a bad one, nothing is written, and one line names the place."""
    good = locomo(tmp_path / "good.json", "conv-good", ("Uma", "Vic"), ["One.", "Two."])
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"content": "a", "sender": "Uma"}\n{"content": "secret", "sent_at": "now"}\n')
    before = {table: count(table) for table in ("users", "conversations", "messages")}
    line = refused(cli("import", good, bad))
    assert line.startswith("error: bad.jsonl, line 2, sent_at: is not a time")
    assert "secret" not in line
    bad.write_text('{"content": "whose is this?"}\n')
    line = refused(cli("import", good, bad))
    assert "bad.jsonl, conversation bad, message 1, sender" in line
    assert before == {table: count(table) for table in before}


def test_an_export_of_one_person_and_an_agent(cli: Cli, tmp_path: Path) -> None:
    """Lines without a sender belong to --user, in a conversation with --agent."""
    cli("users", "resolve", "web", "pia", "--name", "Pia")
    agent = cli("agents", "create", "Archivist", "--memory-scope", "agent", "--json").json
    file = tmp_path / "chat.jsonl"
    lines = [{"content": "My locker code word is heron."}, {"role": "assistant", "content": "Ok."}]
    file.write_text("\n".join(json.dumps(line) for line in lines))
    assert cli("import", file, "--user", "Pia", "--agent", "archivist").code == 0
    with_agent = ("--user", "Pia", "--agent", agent["id"], "--json")
    hits = cli("recall", "code word", *with_agent).json["hits"]
    assert "My locker code word is heron." in [hit["content"] for hit in hits]
    other = cli("agents", "create", "Other", "--json").json
    hits = cli("recall", "code word", "--user", "Pia", "--agent", other["id"], "--json").json[
        "hits"
    ]
    assert "heron" not in json.dumps(hits)


def test_an_import_that_was_killed_goes_on(
    cli: Cli, count: Any, server: tuple[Path, str], tmp_path: Path
) -> None:
    """After kill -9 in the middle, the same command stores the rest and doubles nothing."""
    # Batches enough that none but a few are stored before somebody has seen the first.
    total = 620
    texts = [f"Note {number} is about crate {number * 7}." for number in range(total)]
    file = locomo(tmp_path / "long.json", "conv-long", ("Wyn", "Xia"), texts)
    assert cli("users", "list").code == 0  # the database is migrated
    before, spaces = count("messages"), count("spaces")
    running = subprocess.Popen(
        [*COMMAND, "--data-dir", server[0], "import", file], stderr=subprocess.PIPE
    )
    while count("messages") < before + 100:
        assert running.poll() is None, running.communicate()[1]
        time.sleep(0.01)
    running.kill()
    running.communicate()
    stored = count("messages") - before
    assert 100 <= stored < total
    again = cli("import", file)
    assert [line.split()[0] for line in again.out.splitlines()] == [
        "1",
        str(total - stored),
        str(stored),
        "2",
    ]
    assert count("messages") == before + total
    assert count("messages") == count("(SELECT DISTINCT conversation_id, position FROM messages)")
    assert count("spaces") == spaces + 1


@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.soak)])
def test_a_watch_that_was_killed_goes_on(
    cli: Cli, server: tuple[Path, str], tmp_path: Path, kills: int
) -> None:
    """After kill -9 at any moment it comes to the same; SIGTERM ends it without a word."""
    name, per_file = f"Nor-{kills}", 40 * kills
    cli("users", "resolve", "web", name, "--name", name)
    said = [[f"{name}, dune {file} has {n} terns." for n in range(per_file)] for file in range(3)]
    folder = tmp_path / "in"
    folder.mkdir()
    for file, texts in enumerate(said):
        lines = "\n".join(json.dumps({"content": text}) for text in texts)
        (folder / f"{file}.jsonl").write_text(lines)
    watch = ("watch", folder, "--user", name, "--still", "0.1")

    def stored() -> list[str]:
        with psycopg.connect(server[1]) as connection:
            found = connection.execute(
                "SELECT m.content FROM messages AS m"
                " JOIN conversations AS c ON c.id = m.conversation_id"
                " WHERE m.content LIKE %s ORDER BY c.platform_conversation_id, m.position",
                (f"{name},%",),
            )
            return [content for (content,) in found]

    for number in range(kills + 1):
        is_last = number == kills
        running = subprocess.Popen(
            [*COMMAND, "--data-dir", server[0], *map(str, watch)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            enough = 3 * per_file if is_last else 3 * per_file * (number + 1) // (kills + 2)
            while len(stored()) < enough:
                assert running.poll() is None, running.communicate()
                time.sleep(0.01)
            running.send_signal(signal.SIGTERM if is_last else signal.SIGKILL)
            out, err = running.communicate(timeout=30)
        finally:
            running.kill()
            running.communicate()
        assert err == ""
    assert running.returncode == 0
    assert out.startswith(f"Watching {folder}. Ctrl-C stops it.\n")
    assert stored() == [text for texts in said for text in texts]
    (folder / "broken.json").write_text("[{")
    ended = cli(*watch, "--once")
    assert (ended.code, ended.err) == (2, "broken.json: line 1: is not valid JSON\n")
    assert stored() == [text for texts in said for text in texts]


def test_an_export_of_another_system(cli: Cli, count: Any, tmp_path: Path) -> None:
    """Tried first, then stored, with what was left out; what it does not say is asked for."""
    file = tmp_path / "WhatsApp Chat with Ole.txt"
    file.write_text(
        "13/05/2024, 12:00 - Messages are end-to-end encrypted.\n"
        "13/05/2024, 12:01 - Ole: The ferry leaves at noon\n"
        "13/05/2024, 12:02 - Siv P: I packed the thermos\n"
    )
    cli("users", "resolve", "web", "siv", "--name", "Siv")
    assert "--time-zone" in refused(cli("import", file, "--user", "Siv"))
    assert "IANA" in refused(cli("import", file, "--user", "Siv", "--time-zone", "Mars"))
    call = ("import", file, "--user", "Siv", "--time-zone", "Europe/Oslo")
    before = count("messages")
    tried = cli(*call, "--dry-run")
    assert tried.code == 0, tried.err
    assert tried.out.splitlines()[1].split() == ["2", "messages", "would", "be", "imported"]
    assert count("messages") == before
    done = cli(*call)
    assert "1  skipped: system message" in done.out
    assert "conversations, 2024-05-13 to 2024-05-13" in done.out
    [hit, *_] = cli("recall", "thermos", "--user", "Siv", "--json").json["hits"]
    assert (hit["sender_name"], hit["at"]) == ("Siv P", "2024-05-13T10:02:00Z")


def test_case_40_messages_are_edited_and_deleted(cli: Cli, server: Any, tmp_path: Path) -> None:
    """By the platform's id; a deletion is tried first. A conversation goes the same way."""
    lines = [("m1", "Ulla keeps bees"), ("m2", "Ulla keeps geese")]
    file = tmp_path / "farm.jsonl"
    file.write_text(
        "".join(
            json.dumps({"content": words, "sender": "Ulla", "message_id": name}) + "\n"
            for name, words in lines
        )
    )
    assert cli("import", file).code == 0
    with psycopg.connect(server[1]) as connection:
        found = connection.execute(
            "SELECT conversation_id, owner_id FROM messages WHERE platform_message_id = 'm1'"
        ).fetchone()
    assert found
    talk, ulla = found

    def said() -> list[str]:
        hits = cli("recall", "What does Ulla keep?", "--user", ulla, "--json").json["hits"]
        return sorted(hit["content"] for hit in hits if "Ulla" in hit["content"])

    edit = ("conversations", "edit-message", ulla, talk)
    assert "platform:m9" not in refused(cli(*edit, "platform:m9", "Ulla keeps goats"))
    assert "edited" in cli(*edit, "platform:m1", "Ulla keeps goats").out
    assert said() == ["Ulla keeps geese", "Ulla keeps goats"]

    delete = ("conversations", "delete-message", ulla, talk, "platform:m2")
    assert cli(*delete).code == 0
    assert len(said()) == 2
    assert cli(*delete, "--apply", "--yes").code == 0
    assert said() == ["Ulla keeps goats"]

    assert cli("conversations", "delete", talk).code == 0
    assert said() == ["Ulla keeps goats"]
    assert cli("conversations", "delete", talk, "--apply", "--yes").code == 0
    assert said() == []


def test_remember_says_what_became_of_it(cli: Cli) -> None:
    """New, known and similar statements are told apart."""
    cli("users", "resolve", "web", "quin", "--name", "Quin")
    whom = ("--user", "Quin", "--subject", "Quin's work")
    made = cli("remember", "Quin repairs clocks.", *whom, "--kind", "fact", "--json").json
    assert made["outcome"] == "created"
    assert "mentioned 2 times" in cli("remember", "Quin repairs clocks.", *whom).out
    line = refused(cli("remember", "Quin sells bicycles now.", *whom))
    assert made["memory"]["id"] in line
    assert "to store a further fact: --allow-similar" in line
    assert cli("remember", "Quin sells bicycles now.", *whom, "--allow-similar").code == 0
    assert "--shared" in refused(cli("remember", "Whose?"))


def test_users_agents_and_keys(cli: Cli) -> None:
    """People, agents and keys are made, changed, shown and listed."""
    user = cli("users", "resolve", "discord", "rosa-1", "--name", "Rosa", "--json").json
    linked = cli("users", "link", "Rosa", "telegram", "rosa-2", "--json").json
    assert len(linked["platform_links"]) == 2
    assert cli("users", "show", "telegram:rosa-2", "--json").json["id"] == user["id"]
    assert "discord:rosa-1" in cli("users", "list").out
    cli("agents", "create", "Scribe", "--description", "Writes [bold]minutes[/bold]")
    resolved = cli("agents", "resolve", "Scribe", "--description", "Another").out
    assert "[bold]minutes[/bold]" in resolved
    assert cli("agents", "resolve", "Cook", "--temperature", "0.5", "--json").json["name"] == "Cook"
    assert cli("agents", "list").out.count("Cook") == 1
    cli("agents", "update", "scribe", "--llm-provider", "openai", "--llm-model", "gpt-5-mini")
    changed = cli("agents", "update", "scribe", "--memory-scope", "global", "--json").json
    assert (changed["llm_provider"], changed["llm_model"]) == ("openai", "gpt-5-mini")
    assert changed["memory_scope"] == "global"
    assert "[bold]minutes[/bold]" in cli("agents", "show", "Scribe").out
    made = cli("keys", "create", "bot", "--json").json
    assert made["secret"].startswith("rmb_")
    own = cli("keys", "create", "own", "--role", "user", "--user", "Rosa")
    assert own.out.count("rmb_") == 1
    listed = cli("keys", "list")
    assert made["id"] in listed.out
    assert "rmb_" not in listed.out
    rotated = cli("keys", "rotate", "bot", "--grace", "60", "--json").json
    assert rotated["secret"] not in {None, made["secret"]}
    assert "bot (old)" in cli("keys", "list").out
    assert cli("keys", "revoke", "bot", "--json").json["id"] == rotated["id"]
    assert cli("keys", "revoke", made["id"], "--json").json["revoked_at"] is not None
    nobody = refused(cli("keys", "revoke", "bot"))
    assert "key: no such key; `remembrancer keys list` shows them" in nobody


def test_a_time_is_in_utc_unless_it_names_its_zone(cli: Cli) -> None:
    """What is no time is told how one is written."""
    ends = ("keys", "create", "timed", "--expires-at")
    for typed, at in (
        ("2999-02-01", "2999-02-01T00:00:00Z"),
        ("2999-02-01T09:00", "2999-02-01T09:00:00Z"),
        ("2999-02-01T09:00+05:00", "2999-02-01T04:00:00Z"),
    ):
        assert cli(*ends, typed, "--json").json["expires_at"] == at
    assert "must be a time: 2027-02-01 or 2027-02-01T09:00 (" in refused(cli(*ends, "01.02.2999"))
    assert "expires_at: is in the past" in refused(cli(*ends, "2020-01-01"))


def test_spaces_and_who_sees_what_is_kept_there(cli: Cli) -> None:
    """Made, joined and shared from the command line, each as the user that is named."""
    for name in ("Nora", "Omar"):
        cli("users", "resolve", "matrix", name, "--name", name)
    made = cli("spaces", "create", "acme", "--user", "Nora", "--json").json
    assert (made["role"], made["member_count"]) == ("owner", 1)
    cli("spaces", "create", "acme-corp", "--user", "Nora")
    cli("remember", "The plan is blue.", "--user", "Nora")
    added = cli("spaces", "add-member", "acme", "Omar", "--user", "Nora", "--json").json
    assert (added["display_name"], added["role"]) == ("Omar", "member")
    assert "acme" in cli("spaces", "list", "--user", "Omar").out
    assert "acme-corp" not in cli("spaces", "list", "--user", "Omar").out
    outside = cli("recall", "The plan", "--user", "Nora", "--json").json["hits"][0]["id"]
    assert "visibility" in refused(cli("spaces", "share", outside, "--user", "Nora"))
    assert "memory_id" in refused(cli("spaces", "share", outside, "--user", "Omar"))
    assert cli("spaces", "unshare", outside, "--user", "Nora").out == f"{outside} is private now.\n"
    names = [
        each["display_name"]
        for each in cli("spaces", "members", "acme", "--user", "Omar", "--json").json
    ]
    assert names == ["Nora", "Omar"]
    assert "Omar" in cli("spaces", "members", "acme", "--user", "Nora").out
    assert "add-fact" in cli("spaces", "facts", "acme", "--user", "Omar").err
    told = cli("spaces", "add-fact", "acme", "The plan is red.", "--user", "Nora", "--shared").out
    assert told.startswith("Created: ")
    cli("spaces", "add-fact", "acme", "The plan costs too much.", "--user", "Nora")
    [fact] = cli("spaces", "facts", "acme", "--user", "Omar", "--json").json
    assert (fact["content"], fact["visibility"]) == ("The plan is red.", "shared")
    assert "The plan is red." in cli("spaces", "facts", "acme", "--user", "Omar").out
    assert len(cli("spaces", "facts", "acme", "--user", "Nora", "--json").json) == 2
    assert "no space" in refused(cli("spaces", "add-member", "acm", "Omar", "--user", "Nora"))
    assert "owners" in refused(cli("spaces", "remove-member", "acme", "Nora", "--user", "Omar"))
    cli("spaces", "remove-member", made["id"], "Omar", "--user", "Nora")
    assert cli("spaces", "list", "--user", "Omar", "--json").json == []


def test_case_34_on_the_command_line_who_left_accepts_an_invitation(cli: Cli) -> None:
    """Staff adds at once, but nobody who left; an invitation is listed, declined and accepted."""
    for name in ("Petra", "Rune"):
        cli("users", "resolve", "matrix", name, "--name", name)
    made = cli("spaces", "create", "band", "--user", "Petra", "--member", "Rune", "--json").json
    assert cli("spaces", "leave", "band", "--user", "Rune").out == "Left.\n"
    assert "invite them" in refused(cli("spaces", "add-member", "band", "Rune", "--user", "Petra"))
    sent = cli("spaces", "invite", "band", "Rune", "--user", "Petra", "--json").json
    assert (sent["name"], sent["inviter"]) == ("band", "Petra")
    assert cli("spaces", "list", "--user", "Rune", "--json").json == []
    assert cli("spaces", "invitations", "--user", "Rune", "--json").json == [sent]
    assert cli("spaces", "sent-invitations", "band", "--user", "Petra", "--json").json == [sent]
    assert "band" in cli("spaces", "invitations", "--user", "Rune").out
    assert cli("spaces", "decline", made["id"], "--user", "Rune").out == "Declined.\n"
    assert cli("spaces", "invitations", "--user", "Rune", "--json").json == []
    joined = cli("spaces", "accept", made["id"], "--user", "Rune", "--json").json
    assert (joined["role"], joined["member_count"]) == ("member", 2)
    assert "space_id" in refused(cli("spaces", "accept", made["id"], "--user", "Rune"))
    cli("spaces", "leave", "band", "--user", "Rune")
    cli("spaces", "invite", "band", "Rune", "--user", "Petra")
    withdrawn = cli("spaces", "withdraw", "band", sent["invitee"], "--user", "Petra")
    assert withdrawn.out == "Withdrawn.\n"
    assert "invitee" in refused(cli("spaces", "withdraw", "band", "x:1", "--user", "Petra"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["recall", ""], "query: must not be empty"),
        (["recall", "x", "--limit", "0"], "--limit"),
        (["recall", "x", "--mode", "typed"], "kinds: typed mode needs at least one"),
        (["keys", "create", "x", "--role", "user"], "user: is required for the role user"),
        (["users", "show", "00000000-0000-7000-8000-000000000000"], "user_id: no such user"),
        (["agents", "create", "\x07"], "name: "),
        (["nonsense"], "nonsense"),
        (["--database-url", "nonsense", "keys", "list"], "database_url: must be an address such"),
        (["--database-url", "postgresql://nobody@127.0.0.1:1/x", "keys", "list"], "set up"),
    ],
)
def test_what_is_refused_takes_one_line(cli: Cli, arguments: list[str], told: str) -> None:
    """Whatever is wrong, stderr holds one line that names it, and the exit code is 2."""
    assert told in refused(cli(*arguments))


def test_a_name_of_two_agents_is_not_guessed(cli: Cli) -> None:
    """Both are named, with their ids."""
    for _ in range(2):
        cli("agents", "create", "Twin")
    line = refused(cli("recall", "x", "--agent", "Twin"))
    assert line.startswith("error: agent: several agents have this name: Twin (")


def test_own_ids_and_forgetting_many(cli: Cli) -> None:
    """By ids of both kinds and by options; a dry run counts, and an undo brings all back."""
    user = "discord:otto"
    cli("users", "resolve", "discord", "otto", "--name", "Otto")
    for number, where in enumerate(("attic", "cellar", "shed")):
        named = ("--external-id", f"box/{number}", "--category", "hobby")
        assert cli("remember", f"A box is in the {where}.", "--user", user, *named).code == 0
    again = cli("remember", "A box is in the attic.", "--user", user, "--external-id", "box/0")
    assert again.out.startswith("Stored already as ")
    line = refused(cli("remember", "No box.", "--user", user, "--external-id", "box/0"))
    assert line.startswith("error: external_id: memory ")
    chosen = ("memories", "forget", "--user", user, "--category", "hobby")
    assert cli(*chosen, "--dry-run").out.startswith("Would forget 3 memories and 0 messages")
    some = cli("memories", "forget", "external:box/0", "zzzzzzzz", "--user", user)
    assert some.out.startswith("Forgot 1 memory and 0 messages that say them.")
    assert "Not found: zzzzzzzz" in some.out
    undo_id = some.out.split()[-1]
    assert cli("memories", "undo-forget", undo_id, "--user", user).out == "Restored 1 memory.\n"
    assert "undone before" in refused(cli("memories", "undo-forget", undo_id, "--user", user))
    assert cli(*chosen, "--json").json["memories"] == 3
    assert "memory_ids: must be given" in refused(cli("memories", "forget", "--user", user))


def test_settings_are_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that is none is named like a field."""
    monkeypatch.setenv("REMEMBRANCER_SERVER__PORT", "seventy")
    line = refused(cli("keys", "list"))
    assert line.startswith("error: server.port: ")
    assert "(in REMEMBRANCER_SERVER__PORT)" in line


def test_content_cannot_drive_the_terminal(cli: Cli) -> None:
    """Escape sequences in what somebody said are not printed."""
    cli("remember", "Red \x1b[31malert\x1b]0;title\x07 in [red]hangar[/red] nine.", "--shared")
    shown = cli("recall", "hangar nine").out
    assert "[red]hangar[/red]" in shown
    assert "\x1b" not in shown


def test_doctor_finds_nothing_wrong_and_what_is_wrong(cli: Cli, server: tuple[Path, str]) -> None:
    """A sound store exits with 0; an open directory and a table without row security with 1."""
    well = cli("doctor")
    assert well.code == 0, well.out
    assert "✗" not in well.out
    assert "pgvector" in well.out
    server[0].chmod(0o755)
    with psycopg.connect(server[1], autocommit=True) as connection:
        connection.execute("ALTER TABLE mentions NO FORCE ROW LEVEL SECURITY")
        ill = cli("doctor")
        connection.execute("ALTER TABLE mentions FORCE ROW LEVEL SECURITY")
    server[0].chmod(0o700)
    assert ill.code == 1
    assert "not forced on mentions" in ill.out
    assert "chmod 700" in ill.out


def test_doctor_checks_every_row(cli: Cli, server: tuple[Path, str]) -> None:
    """A whole store exits with 0; a memory that was changed past us with 1, its id and a repair."""
    cli("remember", "The lighthouse is green.", "--shared")
    well = cli("doctor", "--check")
    assert (well.code, "✗" in well.out) == (0, False), well.out
    change = "UPDATE memories SET tokens = tokens + {} WHERE content LIKE 'The lighthouse%'"
    with psycopg.connect(server[1], autocommit=True) as connection:
        connection.execute(change.format(90))
        ill = cli("doctor", "--check")
        connection.execute(change.format(-90))
    assert ill.code == 1
    assert "1 memories whose hash or tokens are of another text" in " ".join(ill.out.split())
    assert "remembrancer restore" in ill.out


def test_doctor_reports_a_login_that_can_become_the_owner(
    cli: Cli, server: tuple[Path, str]
) -> None:
    """The service logs in with a role of its own; with the owner's address it is a problem."""
    assert "remembrancer_app, which can act as nobody stronger" in cli("doctor").out
    ill = cli("--database-url", server[1], "doctor")
    assert ill.code == 1
    assert "database_owner_url" in ill.out


def test_doctor_calls_the_models(cli: Cli, scripted: Scripted) -> None:
    """What answers is timed; a language model that refuses is a problem, with its reason."""
    scripted.said = lambda _: Reply("Yes")
    well = cli("doctor")
    assert well.code == 0, well.out
    assert well.out.count("answers in") == 2
    scripted.said = lambda _: Reply(status=401)
    ill = cli("doctor")
    assert ill.code == 1
    assert "check its API key" in ill.out


def test_another_embedding_model_is_not_mixed_in(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another model configured, recall and doctor name the command that helps."""
    cli("remember", "The ferry leaves at six.", "--shared")
    monkeypatch.setenv("REMEMBRANCER_EMBEDDING__PROVIDER", "openai")
    assert "run `remembrancer reembed`" in refused(cli("recall", "ferry"))
    ill = cli("doctor")
    assert ill.code == 1
    assert "run `remembrancer reembed`" in ill.out


def test_reembed_has_nothing_to_do(cli: Cli) -> None:
    """With the model that filled the store, nothing is embedded."""
    assert "Nothing to do" in cli("reembed").out


def test_empty_lists_say_what_to_do_on_stderr(cli: Cli) -> None:
    """What is no row never meets a program that reads the rows."""
    cli("users", "resolve", "web", "none-1", "--name", "Nadir")
    for call, told in (
        (("memories", "list", "--user", "Nadir"), "remembrancer remember TEXT --user NAME"),
        (("review", "list", "--user", "Nadir"), "No memory waits for a decision."),
        (("review", "confirm", "--all", "--user", "Nadir"), "No memory waits for a decision."),
        (("spaces", "list", "--user", "Nadir"), "remembrancer spaces create"),
        (("spaces", "invitations", "--user", "Nadir"), "There are no open invitations."),
        (("jobs", "--status", "failed"), "No jobs."),
        (("audit", "--action", "nothing"), "No line of the log matches."),
        (("recall", "anything", "--user", "Nadir", "--min-relevance", "1"), "Nothing is found"),
    ):
        ran = cli(*call)
        assert (ran.code, ran.out) == (0, ""), call
        assert told in ran.err, call


def test_lists_are_lines_with_tabs_for_programs(cli: Cli) -> None:
    """Each row is one line, whatever was said in it, with the id as its first cell."""
    user = cli("users", "resolve", "web", "tab-1", "--name", "Tabea", "--json").json
    cli("remember", "Tabea said:\n one\ttwo, and " + "much more " * 30, "--user", "Tabea")
    [line] = cli("memories", "list", "--user", "Tabea").out.splitlines()
    memory_id, _, category, subject, content = line.split("\t")
    assert (category, subject) == ("other", "")
    assert content.startswith("Tabea said: one two, and much more")
    assert cli("memories", "forget", memory_id, "--user", "Tabea").code == 0
    rows = [line.split("\t") for line in cli("users", "list", "--limit", 999).out.splitlines()]
    assert [user["id"], "Tabea", "web:tab-1"] in [[row[0], row[1], row[3]] for row in rows]


def test_errors_of_files_are_one_line(cli: Cli, tmp_path: Path) -> None:
    """A directory that is not there, for whatever writes or reads."""
    cli("users", "resolve", "web", "file-1", "--name", "Filippa")
    lost = tmp_path / "lost" / "x"
    for call in (
        ("users", "export", "Filippa", "--output", lost),
        ("documents", "get", "Filippa", "--output", lost),
        ("backup", lost),
        ("restore", lost, "--check"),
        ("import", lost, "--user", "Filippa"),
    ):
        assert str(lost.parent) in refused(cli(*call)), call


@pytest.mark.parametrize("tries", [3, pytest.param(30, marks=pytest.mark.soak)])
def test_case_61_ctrl_c_is_quiet_at_any_moment(
    cli: Cli, server: tuple[Path, str], tmp_path: Path, tries: int
) -> None:
    """An interrupted import exits with 130, soon, and says nothing."""
    assert cli("users", "list").code == 0  # the database is migrated
    texts = [f"Line {number}, never to be finished." for number in range(5_000)]
    for number in range(tries):
        file = locomo(tmp_path / f"{number}.json", f"conv-{number}", ("Yan", "Zed"), texts)
        ended = _interrupted(
            server, file, f"locomo:conv-{number}:Zed", after=randrange(100 * tries)
        )
        assert ended == (130, "", ""), number


def _interrupted(
    server: tuple[Path, str], file: Path, name: str, *, after: int
) -> tuple[int, str, str]:
    """How an import ends that is interrupted once it has stored so many messages of a user."""
    running = subprocess.Popen(
        [*COMMAND, "--data-dir", server[0], "import", file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    platform, _, platform_user_id = name.partition(":")
    stored = (
        "SELECT count(m.id) >= %s FROM platform_links AS l"
        " LEFT JOIN messages AS m ON m.owner_id = l.user_id"
        " WHERE l.platform = %s AND l.platform_user_id = %s HAVING count(*) > 0"
    )
    try:
        with psycopg.connect(server[1], autocommit=True) as connection:
            while True:
                assert running.poll() is None, running.communicate()
                row = connection.execute(stored, (after, platform, platform_user_id)).fetchone()
                if row and row[0]:
                    break
                time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        return running.returncode, out, err
    finally:
        running.kill()
        running.communicate()


def test_the_toggle_is_migrated_only_when_told_to(
    cli: Cli, count: Any, server: tuple[Path, str]
) -> None:
    """Without --apply nothing is written; with it what is missing is; then there is nothing."""
    cli("agents", "create", "Migrated")
    made = cli("users", "resolve", "discord", "toggled-1", "--name", "Tove", "--json").json
    with psycopg.connect(server[1]) as connection:
        connection.execute(
            "UPDATE users SET allow_agent_specific_memory = false WHERE id = %s", (made["id"],)
        )
    agents = len(cli("agents", "list", "--json").json)
    dry = cli("migrate-preferences", "--json").json
    assert dry == {"users": 1, "preferences": agents}
    assert "To create them: --apply" in cli("migrate-preferences").out
    assert count("memory_preferences") == 0
    done = cli("migrate-preferences", "--apply")
    assert f"{agents} preferences created" in done.out
    assert count("memory_preferences") == agents
    assert cli("migrate-preferences", "--apply", "--json").json == {"users": 1, "preferences": 0}
    assert "Nothing to do" in cli("migrate-preferences").out
    cli("agents", "create", "Later than the migration")
    assert count("memory_preferences") == agents + 1


def test_erasing_counts_first_asks_and_then_deletes(
    cli: Cli, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --apply, and on a no, nothing is gone; --yes does not ask; each has a receipt."""
    cli("users", "resolve", "web", "ezra", "--name", "Ezra")
    memory_id = cli("remember", "Ezra keeps goats.", "--user", "Ezra", "--json").json["memory"][
        "id"
    ]
    before = count("memories")
    would = cli("users", "erase", "Ezra", "--json").json
    assert (would["dry_run"], would["rows"]["memories"]) == (True, 1)
    assert "To delete: --apply" in cli("users", "erase", "Ezra").out
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    stopped = cli("users", "erase", "Ezra", "--apply")
    assert stopped.code != 0
    assert f"Delete {would['total']:,} rows permanently?" in stopped.err
    assert count("memories") == before
    gone = cli("memories", "erase", "Ezra", memory_id, "--apply", "--yes", "--json").json
    assert (gone["dry_run"], gone["rows"]["memories"]) == (False, 1)
    assert count("memories") == before - 1
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    done = cli("users", "erase", "Ezra", "--apply")
    assert "deleted permanently at" in done.out, done.err
    assert refused(cli("users", "erase", "Ezra")).startswith("error: user: no user")


def test_an_export_is_whole_or_not_there(cli: Cli, tmp_path: Path) -> None:
    """A line for each row, in a file that was not there before; for a stranger none is left."""
    cli("users", "resolve", "web", "flo", "--name", "Flo")
    cli("remember", "Flo keeps a heron.", "--user", "Flo")
    file = tmp_path / "flo.jsonl"
    told = cli("users", "export", "Flo", "--output", file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert f"{file.stat().st_size:,} bytes written" in told.out
    assert lines[0]["type"] == "user"
    assert [link["platform_user_id"] for link in lines[0]["platform_links"]] == ["flo"]
    assert "Flo keeps a heron." in [line.get("content") for line in lines]
    assert "the file exists" in refused(cli("users", "export", "Flo", "--output", file))
    refused(cli("users", "export", "Nobody at all", "--output", tmp_path / "none.jsonl"))
    assert not (tmp_path / "none.jsonl").exists()


def test_the_audit_log_is_read_by_filters_and_pages(cli: Cli) -> None:
    """Whose, what, from where, when; a page says how to go on."""
    cli("users", "resolve", "web", "gil", "--name", "Gil")
    for number in range(3):
        cli("remember", f"Gil has {number} hats.", "--user", "Gil")
    mine = ("audit", "--user", "Gil", "--action", "memory.remember")
    lines = cli(*mine, "--actor", "Gil", "--entry-point", "cli", "--json").json
    assert [line["action"] for line in lines] == ["memory.remember"] * 3
    assert lines[0]["at"] > lines[1]["at"] > lines[2]["at"]
    assert "hats" not in cli(*mine).out
    first = cli(*mine, "--limit", "2", "--json")
    [cursor] = [line.split()[-1] for line in first.err.splitlines() if "--cursor" in line]
    assert first.json + cli(*mine, "--cursor", cursor, "--json").json == lines
    since = cli(*mine, "--since", lines[1]["at"], "--until", lines[0]["at"], "--json").json
    assert [line["id"] for line in since] == [lines[1]["id"]]
    assert cli(*mine, "--entry-point", "rest", "--json").json == []
    assert "since" in refused(cli(*mine, "--since", "yesterday"))


def test_old_rows_are_counted_and_removed(
    cli: Cli, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing without --apply; the settings say how old."""
    cli("users", "resolve", "web", "iris", "--name", "Iris")
    cli("remember", "Iris folds paper.", "--user", "Iris")
    [memory] = cli("memories", "list", "--user", "Iris", "--json").json
    cli("memories", "forget", memory["id"], "--user", "Iris")
    with psycopg.connect(server[1]) as owner:
        owner.execute(
            "UPDATE memories SET forgotten_at = now() - interval '9 days' WHERE id = %s",
            (memory["id"],),
        )
    monkeypatch.setenv("REMEMBRANCER_RETENTION__FORGOTTEN", "7")

    def counted(*options: str) -> int:
        lines = cli("retention", *options, "--json").json["items"]
        [count] = [line["count"] for line in lines if line["what"] == "forgotten"]
        return int(count)

    assert (counted(), counted(), counted("--apply"), counted()) == (1, 1, 1, 0)
    assert "for ever" in cli("retention").out
    assert "0 rows removed." in cli("retention", "--apply").out


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, model: Scripted) -> Scripted:
    """The scripted model, as the environment of commands names it."""
    monkeypatch.setenv("REMEMBRANCER_LLM__MODEL", "openai:scripted")
    monkeypatch.setenv("REMEMBRANCER_LLM__BASE_URL", model.base_url)
    return model


@contextmanager
def typed(path: Path, *lines: str) -> Iterator[None]:
    """These lines are the standard input."""
    path.write_text("".join(f"{line}\n" for line in lines))
    with path.open() as source, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", source)
        yield


def test_a_chat_with_an_agent(
    cli: Cli,
    server: tuple[Path, str],
    scripted: Scripted,
    tmp_path: Path,
) -> None:
    """Model and temperature reach the provider, its tools work, and the chat goes on later."""
    cli("users", "resolve", "web", "ute", "--name", "Ute")
    cli("agents", "create", "Secretary")
    cli("agents", "create", "Butler")
    call = ("chat", "--user", "web:ute", "--agent", "Secretary", "--temperature", "0.25")
    fact = {"content": "Ute plays the oboe", "category": "person", "confirmed": True}
    scripted.said = [
        Reply("Noted.", calls=[("add_to_memory", fact)]),
        Reply("I shall remember."),
        Reply("The oboe."),
    ]
    with typed(tmp_path / "first", "Remember that I play the oboe", "", "/memory"):
        first = cli(*call)
    assert first.code == 0, first.err
    noted, tool, shall, *commands = first.out.splitlines()
    assert (noted, shall) == ("Noted.", "I shall remember.")
    assert tool.startswith("[add_to_memory {")
    assert "Ute plays the oboe" in "".join(commands)
    body = scripted.requests[0]
    assert (body["model"], body["temperature"]) == ("scripted", 0.25)
    with psycopg.connect(server[1]) as connection:
        found = connection.execute("SELECT id FROM conversations WHERE platform = 'console'")
        [(where,)] = found.fetchall()
    on = ("--conversation", where, "--model", "tiny", "--no-tools")
    with typed(tmp_path / "second", "What do I play?"):
        second = cli("chat", "--user", "Ute", *on)
    assert (second.code, second.out) == (0, "The oboe.\n"), second.err
    body = scripted.requests[-1]
    assert (body["model"], "tools" in body, len(body["messages"])) == ("tiny", False, 4)
    wrong = cli("chat", "--user", "Ute", "--agent", "Butler", "--conversation", where)
    assert "not the agent of this conversation" in refused(wrong)
    for options, words in (
        (("--temperature", "3"), "--temperature"),
        (("--model", "nobody:x"), "cannot be used"),
        (("--conversation", "00000000-0000-7000-8000-000000000000"), "no such conversation"),
    ):
        assert words in refused(cli("chat", "--user", "Ute", *options))


def test_a_chat_without_a_language_model_is_refused(
    cli: Cli, server: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt is no answer. It is shown to whoever asks for it; nothing else is stored."""
    monkeypatch.delenv("REMEMBRANCER_LLM__MODEL", raising=False)
    cli("users", "resolve", "web", "uwe", "--name", "Uwe")
    with typed(tmp_path / "first", "I play the tuba"):
        said = refused(cli("chat", "--user", "Uwe"))
    assert "no language model to chat with" in said
    with psycopg.connect(server[1]) as connection:
        counted = "SELECT count(*) FROM messages WHERE content LIKE '%tuba%'"
        assert connection.execute(counted).fetchall() == [(0,)]
    with typed(tmp_path / "second", "I play the tuba"):
        shown = cli("chat", "--user", "Uwe", "--prompt")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("## Memory\n")


def test_ctrl_c_stops_an_answer_and_then_the_chat(
    cli: Cli, server: tuple[Path, str], scripted: Scripted
) -> None:
    """In an answer the chat goes on, without a word; between answers it ends at once."""
    cli("users", "resolve", "web", "vic", "--name", "Vic")
    scripted.said = [Reply("Once upon a time there was a bear.", hangs=True), Reply("Goodbye.")]
    running = subprocess.Popen(
        [*COMMAND, "--data-dir", server[0], "chat", "--user", "Vic"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin
    assert running.stdout
    running.stdin.write(b"Tell me a story\n")
    running.stdin.flush()
    assert running.stdout.read(5) == b"Once "
    running.send_signal(signal.SIGINT)
    assert scripted.left_alone.wait(30)
    running.stdin.write(b"Goodbye then\n")
    running.stdin.flush()
    while b"Goodbye." not in running.stdout.readline():
        assert running.poll() is None
    while running.poll() is None:
        # The first may still meet the answer, while it is stored. A second one while the chat ends
        # would kill it.
        running.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            running.wait(15)
    _, errors = running.communicate()
    assert (running.returncode, errors) == (130, b"")


def test_a_memory_is_exported_and_brought_back(cli: Cli, tmp_path: Path) -> None:
    """In each format, for another user too; a file that is there is not overwritten."""
    cli("users", "resolve", "matrix", "juno", "--name", "Juno")
    cli("remember", "Juno tunes pianos.", "--user", "Juno")
    for number, (format_, ending) in enumerate(
        (("json", "jsonl"), ("markdown", "zip"), ("json-ld", "jsonld"))
    ):
        file, other = tmp_path / f"juno.{ending}", f"web:juno-{number}"
        to_file = ("users", "export", "matrix:juno", "--format", format_, "-o", file)
        assert "written to" in cli(*to_file).out
        assert "the file exists" in refused(cli(*to_file))
        cli("users", "resolve", "web", f"juno-{number}", "--name", "J")
        assert "would be imported" in cli("import", file, "--user", other, "--dry-run").out
        assert cli("import", file, "--user", other).code == 0
        assert "1  memories existed already" in cli("import", file, "--user", other).out
        assert "tunes pianos" in cli("memories", "list", "--user", other).out
        assert "--user" in refused(cli("import", file))

"""Document, budget and tools as a person runs them."""

import json
from pathlib import Path

from test_cli import Cli, cli, server

__all__ = ["cli", "server"]


def _user(cli: Cli, name: str) -> str:
    return cli("users", "resolve", "cli", name, "--name", name, "--json").json["id"]


def test_a_document_is_written_and_imported_by_somebody_else(cli: Cli, tmp_path: Path) -> None:
    """Once, however often; a file that is there is not overwritten; what is wrong is named."""
    giver, taker = _user(cli, "Giver"), _user(cli, "Taker")
    cli("remember", "Giver prefers tea.", "--user", giver)
    file = tmp_path / "memory.json"
    written = cli("document", "export", giver, "--output", file)
    assert (written.code, written.out.split()[:2]) == (0, ["1", "facts"])
    assert cli("document", "export", giver, "--output", file).code != 0
    for added in (1, 0):
        answer = cli("document", "import", taker, file, "--json").json
        assert (answer["facts_added"], answer["facts_known"]) == (added, 1 - added)
    there = cli("document", "export", taker).json
    assert there["facts"] == json.loads(file.read_text("utf-8"))["facts"]
    file.write_text('{"facts": [{"id": "a", "content": "secret words"}]}', "utf-8")
    wrong = cli("document", "import", taker, file)
    assert wrong.code == 2
    assert "facts.0.added_at" in wrong.err
    assert "secret words" not in wrong.err
    file.write_text("{", "utf-8")
    assert "is not valid JSON" in cli("document", "import", taker, file).err


def test_the_budget_is_shown_with_what_would_go(cli: Cli) -> None:
    """In words and as JSON."""
    user = _user(cli, "Spender")
    made = cli("remember", "Spender prefers tea.", "--user", user, "--json").json["memory"]
    shown = cli("budget", user)
    assert f"{made['tokens']} of 10,000 tokens are used" in shown.out
    assert "Nothing would be evicted" in shown.out
    shown = cli("budget", user, "--adding", 10_000)
    assert made["id"] in shown.out
    preview = cli("budget", user, "--adding", 10_000, "--json").json
    assert [one["id"] for one in preview["would_go"]] == [made["id"]]

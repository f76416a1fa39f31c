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
    written = cli("documents", "get", giver, "--output", file)
    assert (written.code, written.out.split()[:2]) == (0, ["1", "fact"])
    assert cli("documents", "get", giver, "--output", file).code != 0
    for added in (1, 0):
        answer = cli("documents", "import", taker, file, "--json").json
        assert (answer["facts_added"], answer["facts_known"]) == (added, 1 - added)
    there = cli("documents", "get", taker).json
    assert there["facts"] == json.loads(file.read_text("utf-8"))["facts"]
    file.write_text('{"facts": [{"id": "a", "content": "secret words"}]}', "utf-8")
    wrong = cli("documents", "import", taker, file)
    assert wrong.code == 2
    assert "facts.0.added_at" in wrong.err
    assert "secret words" not in wrong.err
    file.write_text("{", "utf-8")
    assert "is not valid JSON" in cli("documents", "import", taker, file).err


def test_the_budget_is_shown_with_what_would_go(cli: Cli) -> None:
    """In words and as JSON."""
    user = _user(cli, "Spender")
    made = cli("remember", "Spender prefers tea.", "--user", user, "--json").json["memory"]
    shown = cli("memories", "budget", user)
    assert f"{made['tokens']} of 10,000 tokens are used" in shown.out
    assert "Nothing would be evicted" in shown.out
    shown = cli("memories", "budget", user, "--adding", 10_000)
    assert made["id"] in shown.out
    preview = cli("memories", "budget", user, "--adding", 10_000, "--json").json
    assert [one["id"] for one in preview["would_go"]] == [made["id"]]


def test_a_tool_is_called_as_a_model_would(cli: Cli) -> None:
    """What the model is given is printed; a refusal exits with 1 and stores nothing."""
    user = _user(cli, "Caller")
    given = '{"content": "Caller prefers tea.", "category": "preference"}'
    answer = cli("tools", "call", "add_to_memory", given, "--user", user)
    stored = json.loads(answer.out)
    assert (answer.code, stored["content"]) == (0, "Caller prefers tea.")
    refused = cli("tools", "call", "add_to_memory", "{}", "--user", user, "--json")
    assert refused.code == 1
    assert json.loads(refused.out)["error"]["field"] == "content"
    assert cli("tools", "call", "rm_rf", "--user", user).code == 2
    assert cli("documents", "get", user).json["metadata"]["total_facts"] == 1


def test_tools_are_listed_and_shown_as_schemas(cli: Cli) -> None:
    """For reading, and for a program that talks to a provider."""
    assert "manage_user_memory" in cli("tools", "list").out
    openai = cli("tools", "list", "--format", "openai").json
    anthropic = cli("tools", "list", "--format", "anthropic").json
    assert [one["function"]["name"] for one in openai] == [one["name"] for one in anthropic]

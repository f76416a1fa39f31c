"""How a program is connected to this server: what to copy, and where it goes. Pure."""

import json
from dataclasses import dataclass
from typing import Final

from remembrancer.mcp_clients import KEY_VARIABLE, ClientName, merge, server_entry

_KEY_FILE: Final = "~/.remembrancer-key"
_PLACES: Final = {
    ClientName.CLAUDE_CODE: ".mcp.json in your project",
    ClientName.CLAUDE_DESKTOP: "claude_desktop_config.json: Settings, Developer, Edit Config",
    ClientName.CURSOR: "~/.cursor/mcp.json",
    ClientName.VSCODE: ".vscode/mcp.json in your project",
}
PROGRAMS: Final = {
    ClientName.CLAUDE_CODE: "Claude Code",
    ClientName.CLAUDE_DESKTOP: "Claude Desktop",
    ClientName.CURSOR: "Cursor",
    ClientName.VSCODE: "VS Code",
    "python": "Python",
    "rest": "REST",
}
"""Names of what can be connected, by what the address calls it."""
NO_KEY: Final = "YOUR-KEY"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy, and what it is for."""

    title: str
    text: str


def snippets(program: str, url: str, secret: str = NO_KEY) -> list[Snippet]:
    """Return what connects a program to the server at ``url`` with a key, in order."""
    if program == "python":
        return [
            Snippet("In a terminal", "pip install remembrancer"),
            Snippet("In your program", _python(url, secret)),
        ]
    if program == "rest":
        return [Snippet("In a terminal", _curl(url, secret))]
    client = ClientName(program)
    command = ["remembrancer", "mcp", "--url", url, "--key-file", _KEY_FILE]
    entry = merge(client, {}, server_entry(client, command, url=url))
    config = Snippet(f"In {_PLACES[client]}", json.dumps(entry, indent=2, ensure_ascii=False))
    if client is ClientName.CLAUDE_DESKTOP:
        install = "pip install 'remembrancer[mcp]'"
        write = f"(umask 077; printf %s {secret} > {_KEY_FILE})"
        return [Snippet("In a terminal", f"{install}\n{write}"), config]
    if client is ClientName.VSCODE:
        return [config, Snippet("When VS Code asks for the key", secret)]
    return [Snippet("In the file of your shell", f"export {KEY_VARIABLE}={secret}"), config]


def _python(url: str, secret: str) -> str:
    return f"""from remembrancer.client import Client

with Client({json.dumps(url)}, {json.dumps(secret)}) as client:
    client.remember("I drink tea, never coffee.")
    print(client.recall("What do I drink?").hits[0].content)
"""


def _curl(url: str, secret: str) -> str:
    lines = [
        f"curl -s {url}/api/memory/recall",
        f"-H 'Authorization: Bearer {secret}'",
        "-H 'Content-Type: application/json'",
        """-d '{"query": "What do I drink?"}'""",
    ]
    return " \\\n  ".join(lines)

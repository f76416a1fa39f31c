"""How a program is connected to this server: what to copy, and where it goes. Pure."""

import json
import shlex
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from remembrancer.mcp_clients import KEY_VARIABLE, NAME, ClientName, merge, server_entry
from remembrancer.web.languages import gettext, lazy

_KEY_FILE: Final = "~/.remembrancer-key"
_FILES: Final = {
    ClientName.CLAUDE_CODE: lazy(".mcp.json in your project"),
    ClientName.CURSOR: "~/.cursor/mcp.json",
    ClientName.VSCODE: lazy(".vscode/mcp.json in your project"),
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


def snippets(
    program: str, url: str, secret: str = NO_KEY, agent_id: UUID | None = None
) -> list[Snippet]:
    """Return what connects a program to the server at ``url`` with a key, in order.

    With an agent it remembers as that one does, else for all of them.
    """
    if program == "python":
        return [
            Snippet(gettext("In a terminal"), "pip install remembrancer"),
            Snippet(gettext("In your program"), _python(url, secret, agent_id)),
        ]
    if program == "rest":
        return [Snippet(gettext("In a terminal"), _curl(url, secret, agent_id))]
    client = ClientName(program)
    if client is ClientName.CLAUDE_DESKTOP:
        return [Snippet(gettext("In a terminal"), _desktop(url, secret, agent_id))]
    query = f"?agent_id={agent_id}" if agent_id else ""
    entry = merge(client, {}, server_entry(client, (), url=url, query=query))
    file, config = _FILES[client], json.dumps(entry, indent=2, ensure_ascii=False)
    if client is ClientName.VSCODE:
        return [
            Snippet(gettext("In %(file)s", file=file), config),
            Snippet(gettext("When VS Code asks for the key"), secret),
        ]
    if client is ClientName.CURSOR:
        export = f"export {KEY_VARIABLE}={secret}"
        return [
            Snippet(gettext("In ~/.zshrc or ~/.bashrc, which your shell reads"), export),
            Snippet(gettext("In %(file)s", file=file), config),
        ]
    return [
        Snippet(gettext("In a terminal"), _claude_code(f"{url}/mcp{query}", secret)),
        Snippet(
            gettext(
                "Or in %(file)s, with the key in %(variable)s", file=file, variable=KEY_VARIABLE
            ),
            config,
        ),
    ]


def _desktop(url: str, secret: str, agent_id: UUID | None) -> str:
    """Return the lines that store the key and write the configuration, with whole paths."""
    agent = f" --agent {agent_id}" if agent_id else ""
    return f"""pip install 'remembrancer[mcp]'
(umask 077; printf %s {secret} > {_KEY_FILE})
remembrancer mcp install --client {ClientName.CLAUDE_DESKTOP} --write \\
  --url {shlex.quote(url)} --key-file {_KEY_FILE}{agent}"""


def _claude_code(url: str, secret: str) -> str:
    return f"""claude mcp add --transport http --scope user {NAME} {shlex.quote(url)} \\
  --header 'Authorization: Bearer {secret}'"""


def _python(url: str, secret: str, agent_id: UUID | None) -> str:
    uuid, agent = ("from uuid import UUID\n\n", ", agent=agent") if agent_id else ("", "")
    named = f'agent = UUID("{agent_id}")\n' if agent_id else ""
    return f"""{uuid}from remembrancer.client import Client

{named}with Client({json.dumps(url)}, {json.dumps(secret)}) as client:
    client.remember("I drink tea, never coffee."{agent})
    print(client.recall("What do I drink?"{agent}).hits[0].content)
"""


def _curl(url: str, secret: str, agent_id: UUID | None) -> str:
    body = {"query": "What do I drink?"} | ({"agent_id": str(agent_id)} if agent_id else {})
    lines = [
        f"curl -s {shlex.quote(f'{url}/api/memory/recall')}",
        f"-H 'Authorization: Bearer {secret}'",
        "-H 'Content-Type: application/json'",
        f"-d '{json.dumps(body)}'",
    ]
    return " \\\n  ".join(lines)

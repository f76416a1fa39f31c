"""Configuration files of MCP clients: location and format. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from remembrancer.errors import InvalidInput

NAME: Final = "remembrancer"
KEY_VARIABLE: Final = "REMEMBRANCER_MCP__KEY"


class ClientName(StrEnum):
    """A client of MCP whose configuration is known."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a client's configuration file."""

    section: str
    """The name of the object with the servers."""
    key: str | None
    """Its syntax for a key stored elsewhere; null if it only starts programs."""


SHAPES: Final = {
    ClientName.CLAUDE_DESKTOP: Shape("mcpServers", None),
    ClientName.CLAUDE_CODE: Shape("mcpServers", f"${{{KEY_VARIABLE}}}"),
    ClientName.CURSOR: Shape("mcpServers", f"${{env:{KEY_VARIABLE}}}"),
    ClientName.VSCODE: Shape("servers", "${input:remembrancer-key}"),
}
_INPUT: Final = {
    "type": "promptString",
    "id": "remembrancer-key",
    "description": "API key of the Remembrancer server",
    "password": True,
}


def location(client: ClientName, *, home: Path, project: Path, system: str, roaming: str) -> Path:
    """Return where a client keeps its configuration."""
    if client is ClientName.CLAUDE_CODE:
        return project / ".mcp.json"
    if client is ClientName.VSCODE:
        return project / ".vscode" / "mcp.json"
    if client is ClientName.CURSOR:
        return home / ".cursor" / "mcp.json"
    if system == "darwin":
        base = home / "Library" / "Application Support"
    elif system == "win32":
        base = Path(roaming) if roaming else home / "AppData" / "Roaming"
    else:
        base = home / ".config"
    return base / "Claude" / "claude_desktop_config.json"


def server_entry(
    client: ClientName, command: Sequence[str], *, url: str | None, query: str = ""
) -> dict[str, Any]:
    """Return an address if the client supports one, else the program to start."""
    key = SHAPES[client].key
    if url is not None and key is not None:
        return {
            **({} if client is ClientName.CURSOR else {"type": "http"}),
            "url": f"{url.rstrip('/')}/mcp{query}",
            "headers": {"Authorization": f"Bearer {key}"},
        }
    return {
        **({"type": "stdio"} if client is ClientName.VSCODE else {}),
        "command": command[0],
        "args": list(command[1:]),
    }


def merge(client: ClientName, config: Any, server: Mapping[str, Any]) -> dict[str, Any]:
    """Add or replace the server; raise ``InvalidInput`` for a file that no client wrote."""
    section = SHAPES[client].section
    if not isinstance(config, dict):
        raise InvalidInput("is not a JSON object", field="file")
    servers = config.get(section, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"has {section} that is not an object", field="file")
    result = {**config, section: {**servers, NAME: dict(server)}}
    if "${input:" in str(server):
        inputs = config.get("inputs", [])
        if not isinstance(inputs, list):
            raise InvalidInput("has inputs that are not a list", field="file")
        exists = any(isinstance(item, dict) and item.get("id") == _INPUT["id"] for item in inputs)
        result["inputs"] = inputs if exists else [*inputs, dict(_INPUT)]
    return result

"""What the configuration of MCP clients looks like, and where it lies. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from remembrancer.errors import InvalidInput

NAME: Final = "remembrancer"
KEY_VARIABLE: Final = "REMEMBRANCER_MCP__KEY"


class ClientName(StrEnum):
    """The clients that a configuration can be made for."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"


@dataclass(frozen=True, slots=True)
class Shape:
    """How a client writes its servers down."""

    section: str
    """The object that has the servers by name."""
    key: str | None
    """How it refers to a key that is kept elsewhere; null if it only starts programs."""


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


def location(client: ClientName, *, home: Path, here: Path, system: str, roaming: str) -> Path:
    """Return the file of a client: of its user, or of the project ``here`` where it has those.

    ``system`` is ``sys.platform``; ``roaming`` is where Windows keeps settings, if it is Windows.
    """
    if client is ClientName.CLAUDE_CODE:
        return here / ".mcp.json"
    if client is ClientName.VSCODE:
        return here / ".vscode" / "mcp.json"
    if client is ClientName.CURSOR:
        return home / ".cursor" / "mcp.json"
    if system == "darwin":
        base = home / "Library" / "Application Support"
    elif system == "win32":
        base = Path(roaming) if roaming else home / "AppData" / "Roaming"
    else:
        base = home / ".config"
    return base / "Claude" / "claude_desktop_config.json"


def entry(
    client: ClientName, command: Sequence[str], *, url: str | None, query: str = ""
) -> dict[str, Any]:
    """Return what a client has to know of the server: a program to start, or an address.

    A server at ``url`` is reached by its address wherever the client can do that; else the
    program is told of it in ``command``.
    """
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


def merged(
    client: ClientName, there: Any, wanted: Mapping[str, Any], *, name: str = NAME
) -> dict[str, Any]:
    """Return a configuration with the server in it and all else as it was.

    Raises ``InvalidInput`` for one that is not as the client writes it.
    """
    section = SHAPES[client].section
    if not isinstance(there, dict):
        raise InvalidInput("is not a JSON object", field="file")
    servers = there.get(section, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"has {section} that is not an object", field="file")
    result = {**there, section: {**servers, name: dict(wanted)}}
    if "${input:" in str(wanted):
        inputs = there.get("inputs", [])
        if not isinstance(inputs, list):
            raise InvalidInput("has inputs that are not a list", field="file")
        known = any(isinstance(one, dict) and one.get("id") == _INPUT["id"] for one in inputs)
        result["inputs"] = inputs if known else [*inputs, dict(_INPUT)]
    return result

"""Detect the format of a bundle from its content."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from remembrancer.errors import InvalidInput
from remembrancer.importers import locomo
from remembrancer.importers.bundle import Bundle, Member, elements, find
from remembrancer.importers.formats import (
    chatgpt,
    claude,
    discord,
    mcp_memory,
    mem0,
    slack,
    telegram,
    whatsapp,
)
from remembrancer.importers.jsonl import is_lines
from remembrancer.importers.parse import invalid


class Format(StrEnum):
    AUTO = "auto"
    """Detect the format from the content."""
    JSONL = "jsonl"
    """One message per line."""
    JSON = "json"
    """A list of conversations with their messages."""
    LOCOMO = "locomo"
    """The LoCoMo benchmark's files."""
    CHATGPT = "chatgpt"
    """ChatGPT's account export."""
    CLAUDE = "claude"
    """Claude's account export."""
    SLACK = "slack"
    """Slack's export of a workspace."""
    DISCORD = "discord"
    """DiscordChatExporter's JSON, or Discord's data package."""
    TELEGRAM = "telegram"
    """Telegram Desktop's ``result.json``."""
    WHATSAPP = "whatsapp"
    """WhatsApp's chat export."""
    MEM0 = "mem0"
    """mem0's memories, as its ``get_all`` returns them."""
    MCP_MEMORY = "mcp-memory"
    """The file of the MCP reference memory server."""


_LISTS: Sequence[tuple[Format, Callable[[Any], bool]]] = (
    (Format.CHATGPT, chatgpt.looks_like),
    (Format.CLAUDE, claude.looks_like),
    (Format.LOCOMO, lambda first: locomo.looks_like([first])),
    (Format.MEM0, lambda first: mem0.looks_like([first])),
)
_OBJECTS: Sequence[tuple[Format, Callable[[Any], bool]]] = (
    (Format.DISCORD, discord.looks_like),
    (Format.TELEGRAM, telegram.looks_like),
    (Format.MEM0, mem0.looks_like),
)


def detect(bundle: Bundle) -> Format:
    if slack.looks_like(bundle):
        return Format.SLACK
    if discord.is_package(bundle):
        return Format.DISCORD
    for name in ("conversations.json", telegram.FILE, "memory.jsonl"):
        if member := find(bundle, name):
            return detect_text(member.text(), member.where)
    chat = whatsapp.chat(bundle)
    if chat is not None and whatsapp.looks_like(chat.text()):
        return Format.WHATSAPP
    if len(bundle.names()) > 1:
        raise invalid(bundle.name, "is not a known export; name its format with --format")
    member = Member(bundle, bundle.names()[0])
    return detect_text(member.text(), member.where)


def detect_text(text: str, where: str) -> Format:
    """Return the format of one text; by default a list of conversations."""
    if whatsapp.looks_like(text):
        return Format.WHATSAPP
    if mcp_memory.looks_like(_first_value(text.lstrip().partition("\n")[0])):
        return Format.MCP_MEMORY
    start = text.lstrip()[:1]
    if start == "[":
        first = next((element for _, element in elements(text, where)), None)
        return _match(_LISTS, first) or Format.JSON
    format_ = _match(_OBJECTS, _first_value(text)) if start == "{" else None
    return format_ or (Format.JSONL if is_lines(text) else Format.JSON)


def _match(formats: Sequence[tuple[Format, Callable[[Any], bool]]], content: Any) -> Format | None:
    return next((format_ for format_, looks_like in formats if looks_like(content)), None)


def _first_value(text: str) -> Any:
    try:
        return next(elements(text, ""))[1]
    except (InvalidInput, StopIteration):
        return None

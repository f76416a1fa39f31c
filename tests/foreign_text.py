"""The functions that meet text of others, and the parts that such texts are made of."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

from remembrancer import tokens
from remembrancer.adapters import paths, text_edits
from remembrancer.adapters.paths import FileRefused
from remembrancer.analysis import analyse, is_acknowledgement, query_terms, speech, take_apart
from remembrancer.analysis.analyser import named_senders
from remembrancer.associations.rules import telling_words
from remembrancer.chat import discord as discord_chat
from remembrancer.chat import parser
from remembrancer.chat.replies import Reply, Span, plain_text, split_messages
from remembrancer.cli import output, recall
from remembrancer.context.lines import excerpt
from remembrancer.errors import InvalidInput
from remembrancer.extraction import dates
from remembrancer.extraction.transcript import transcript_of
from remembrancer.guard import national, numbers, phrases, secrets
from remembrancer.guard.guard import Guard
from remembrancer.guard.instructions import is_instruction
from remembrancer.importers import address_book, branches, captions, unknown
from remembrancer.importers.formats import (
    calendar,
    contacts,
    discord,
    gemini_html,
    mail,
    mcp_memory,
    messenger,
    notes,
    signal_frames,
    slack,
    slack_attachments,
    statements,
    whatsapp,
    whatsapp_heads,
)
from remembrancer.importers.html_text import html_text
from remembrancer.importers.json_stream import elements, json_lines, parse_json
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes
from remembrancer.importers.turns import split
from remembrancer.llm import concessions
from remembrancer.llm.json_output import json_object
from remembrancer.memories.sameness import canonical
from remembrancer.recall.candidates import calls
from remembrancer.sanitizer import (
    prompt_line,
    quotation,
    revealed,
    visible,
    visible_line,
    visible_text,
)
from remembrancer.settings import GuardSettings
from remembrancer.text import normalised, not_blank, one_line, storable_json
from remembrancer.tools import arguments, json_text
from remembrancer.web import diff, marks

_AT: Final = datetime(2026, 11, 28, tzinfo=UTC)
_ID: Final = UUID(int=1)
_UTC: Final = Options(time_zone=UTC)
_GUARD: Final = Guard(GuardSettings())


def _transcript(text: str) -> str:
    message: Any = SimpleNamespace(
        id=_ID, owner_id=_ID, role="user", sender_name=text, content=text, sent_at=_AT
    )
    return transcript_of(_ID, 1, 1, [message]).text


def _whatsapp(text: str) -> list[Any]:
    chat = f"[28/11/2026, 08:40:00] Ada: {text}"
    lines = list(whatsapp._lines(chat.split("\n"), "chat.txt"))
    return [whatsapp._content(line.text) for line in lines]


FUNCTIONS: Final[dict[str, Callable[[str], object]]] = {
    "guard: secrets": lambda text: list(secrets.find(text)),
    "guard: phrases": lambda text: list(phrases.find(text)),
    "guard: numbers": lambda text: list(numbers.find(text)),
    "guard: national ids": lambda text: list(national.find(text)),
    "guard: redact": _GUARD.redact,
    "guard: instructions": is_instruction,
    "text: sanitizer": lambda text: (visible(text), visible_line(text)),
    "text: tokens": lambda text: (tokens.count(text), tokens.truncate(text, 300)),
    "text: hidden text": revealed,
    "text: several lines": visible_text,
    "text: prompt": lambda text: (prompt_line(text), quotation(text)),
    "text: tools": json_text.to_json_line,
    "text: terminal": output.plain,
    "text: labels": lambda text: (normalised(text), not_blank(f"{text}x"), one_line(text)),
    "text: metadata": lambda text: storable_json({"a": text[:2000]}),
    "analysis: terms": analyse,
    "analysis: query": query_terms,
    "analysis: question": take_apart,
    "analysis: speech": lambda text: (speech(text), is_acknowledgement(text)),
    "analysis: senders": lambda text: named_senders(text, {"Ada Lovelace", text[:200]}),
    "recall: names": calls,
    "memories: sameness": canonical,
    "memories: words": telling_words,
    "extraction: dates": lambda text: dates.resolve(text, _AT, "UTC"),
    "extraction: interval": lambda text: dates.interval(text, "UTC"),
    "extraction: transcript": _transcript,
    "models: JSON": json_object,
    "models: refusals": lambda text: (
        concessions.is_too_long(400, text),
        concessions.next_requests(400, text, frozenset(), concessions.OF_CHAT),
    ),
    "context: excerpt": lambda text: excerpt(text, 800, ("ada", "tea")),
    "tools: ids": arguments._bare_id,
    "chat: commands": lambda text: (parser.parse(text), parser.parse(f"/memory {text}")),
    "chat: edit": lambda text: parser.parse(f"/memory edit {text} x"),
    "chat: Discord": lambda text: discord_chat._MARKUP.sub("", text),
    "terminal: recall": lambda text: recall._query_word("tea", text),
    "chat: replies": lambda text: split_messages(Reply([[Span(text)]]), plain_text, 2000),
    "files: names": lambda text: paths.names(f"/memories/{text}"),
    "files: edit": lambda text: text_edits.replaced("/memories/a", text, text[:7] or "x", "new"),
    "import: numbers": lambda text: address_book._NUMBER.fullmatch(f"+{text}"),
    "import: labels": lambda text: (captions.label(text), captions.joined(text, text)),
    "import: parts": lambda text: split(text, 200),
    "import: JSON": lambda text: parse_json(text, "export.json"),
    "import: list": lambda text: list(elements((f"[{text[:50]}", text[50:]), "export.json")),
    "import: lines": lambda text: list(json_lines(text.split("\n"), "export.jsonl")),
    "import: WhatsApp": _whatsapp,
    "import: WhatsApp head": lambda text: (
        whatsapp.looks_like(f"[28/11/2026, 08:40:00{text}"),
        whatsapp_heads.head(f"28/11/2026 {text}"),
        whatsapp_heads.head(text),
    ),
    "import: Slack blocks": lambda text: list(
        slack_attachments.attached([{"text": text}, {"blocks": [{"text": text}]}], Notes())
    ),
    "import: statements": lambda text: list(statements.statements("x", None, text)),
    "import: HTML": html_text,
    "import: Gemini": lambda text: (
        gemini_html._BREAK.split(text),
        gemini_html._FILE.match(text),
        list(
            gemini_html.activities(
                f'class="outer-cell"class="content-cell">{text}<br>3.5.2025 4:05:06<br>{text}',
                "MyActivity.html",
                _UTC,
            )
        ),
    ),
    "import: Gemini's times": lambda text: gemini_html._time_of(["", text[:60]], "", _UTC),
    "import: marks": lambda text: branches.without(text, "<b", "[a]("),
    "import: unknown": lambda text: unknown.text(text, {text[:99]: 1}, "a.txt"),
    "import: Slack": lambda text: slack.plain(text, slack.Names({}, {})),
    "import: Discord": lambda text: discord._MENTION.sub("@", text),
    "import: MCP": mcp_memory._words,
    "import: mail": lambda text: (
        mail.own_words(text),
        mail._QUOTATION.split(text, maxsplit=1),
        mail._ANSWER.match(text),
        mail._ID.findall(text),
    ),
    "import: mailbox": lambda text: list(mail._messages([f"From {text}".encode()])),
    "import: message": lambda text: mail._mail(f"From: a@b\nSubject: {text}".encode(), Notes()),
    "import: Messenger": messenger.mended,
    "import: Signal": lambda text: signal_frames.words(
        {"body": text, "bodyRanges": [{"mentionAci": text}] * 3}, {}
    ),
    "import: notes": lambda text: (
        notes._plain(text),
        notes._parted(f"---\na: {text}\n---\n{text}", Notes()),
        notes._COMMENT.sub("", text),
        notes._TAG.findall(text),
        notes._CODE.split(text),
    ),
    "import: contacts": lambda text: [
        (contacts._parted(line), contacts.unescaped(line), contacts._Value(line, "").parts())
        for line in contacts._lines(f"NOTE;ENCODING=QUOTED-PRINTABLE:{text}")
    ],
    "import: birthdays": contacts._day,
    "import: calendars": lambda text: list(calendar._without_zones(text)),
    "pages: marks": lambda text: marks.Marker("Ada's tea").parts(text),
    "pages: diff": lambda text: diff.word_changes(f"a {text}", f"b {text} c"),
}
"""Functions that patterns and parsers of foreign text are behind, by area."""

PARTS: Final = [
    *(" ", "\n", "\t", "-", "x", "1", "A", "'", '"', "`", ".", ",", ":", "<", "[", "{", "(", "="),
    *("\\", "/", "_", "*", "#", "+", "&", "\u200b", "\u00a0", "\u0301", "\u0645\u200c", "\u2019"),
    *("1 ", "a ", "A ", "- ", ". ", "1,", "a-", "a.", "a@", "a'", "- \n", "x\n", " \n", '{"a":'),
    *(
        '{"a":1}',
        '{"a":{',
        '{"a}',
        '{"a":1}</think>',
        "</think>",
        "<|",
        "[a](",
        "<b",
        "<@1",
        "<@",
        "&#",
        "://",
        "//a:",
        "a:b@",
    ),
    *("sk-", "eyJ", "eyJa.", "ghp_", "AKIA", "xoxb-1-", "glpat-", "--BEGIN ", "BEGIN PRIVATE KEY"),
    *("-----BEGIN PRIVATE KEY", "password ", "password is ", "token:", "bearer a1", 'password: "'),
    *(
        "password for a of b ",
        "key = ",
        "curl -u a",
        "docker login -p ",
        "user a password ",
        "https://a:b",
        "user a ",
        "-u a",
        "PIN 1 ",
        "4111 ",
        "4111-",
        "GB82 WEST ",
    ),
    *(
        "123456-",
        "12.34.56-",
        "AB12",
        "1.1.1.",
        "card 4111.",
        "ignore all ",
        "always ",
        "you must ",
    ),
    *(
        "<system ",
        "send ",
        "when a user asks ",
        "# ",
        "system: ",
        "last week ",
        "in 2 ",
        "\u6628\u5929",
    ),
    *(
        "morgen ",
        "Hier ",
        "since ",
        "May ",
        "1 May ",
        "2026-",
        "Did Ada ",
        "Kate, ",
        "can't ",
        "`a",
    ),
    *("\u201ca", "*a", "_a", "'a", "context ", "prompt exceed", "role ", "too long ", "system "),
    *(
        "\u4e00",
        "\uac00",
        "\u0e01",
        "\U0001f600",
        "\ufe0f",
        "\U000e0041",
        "\u3164",
        "a.jpg (",
        "<a: b.c",
        "\u200e<",
        "1/1/24, ",
        "\u0645 ",
        "**",
        "a.b",
    ),
]
"""Parts that texts are made of."""

REFUSALS: Final = (InvalidInput, FileRefused, ValueError)
"""Raised for what cannot be taken; a ``ValueError`` by checks of fields."""

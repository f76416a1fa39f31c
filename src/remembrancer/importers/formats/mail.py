"""E-mail: mailboxes (mbox, RFC 4155) and single messages (.eml, RFC 5322), as programs save them.

A conversation is a thread: the messages whose ``References`` begin with the same message, or which
answer one another. Newsletters and automatic messages are left, and so is what Gmail has in spam,
trash or drafts. Of a message, what it quotes and its signature are left: others said it, or nobody.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from math import inf
from typing import Final

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, note_unread
from remembrancer.importers.captions import caption, clean, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn, digest
from remembrancer.importers.html_text import html_text
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes
from remembrancer.importers.spool import Spool
from remembrancer.importers.tally import Tally
from remembrancer.importers.turns import storable

PLATFORM: Final = "email"
_ENDINGS: Final = frozenset({".eml", ".mbox"})
_LONGEST_ID: Final = 200
_ID: Final = re.compile(r"<([^<>\s]{1,998})>")
_START: Final = re.compile(rb"From [^\n]{0,300}\d\d:\d\d[^\n]{0,60}\n")
_MARKED: Final = re.compile(rb">+From ")
_ANSWER: Final = re.compile(r"(?:(?:re|aw|fw|fwd|wg|sv|tr|rv|r)\s{0,3}:\s{0,3})+", re.IGNORECASE)
_ORIGINAL: Final = re.compile(r"-{3,20} ?[^-\n]{5,40} ?-{3,20}")
_NOT_SENT: Final = frozenset(
    """
    spam trash bin drafts
    papierkorb entwürfe|corbeille brouillons|papelera borradores|cestino bozze|lixeira rascunhos
    prullenbak concepten|papirkurv kladder utkast|papperskorgen skräppost søppelpost
    roskakori roskaposti luonnokset|kosz|koš koncepty|kuka piszkozatok
    корзина спам черновики|кошик чернетки|ゴミ箱 迷惑メール 下書き|휴지통 스팸함 임시보관함
    垃圾邮件 已删除邮件 草稿|垃圾郵件 垃圾桶
    """.replace("|", " ").split()
) | {"wersje robocze", "çöp kutusu", "taslaklar"}
"""What Gmail calls spam, trash and drafts."""
_QUOTATION: Final = re.compile(
    r"<(?:blockquote|div class=.{0,2}gmail_quote|div id=.{0,2}divRplyFwdMsg)", re.IGNORECASE
)
"""What HTML has before the words that it answers."""
_BROKEN = (
    AssertionError,
    AttributeError,
    LookupError,
    MessageError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What the standard library raises for headers and bodies of no known form."""


@dataclass(frozen=True, slots=True)
class _Mail:
    key: str
    root: str
    """The id of the first message of its thread, as far as it tells."""
    subject: str
    turn: Turn


def members(bundle: Bundle) -> list[Member]:
    """Return the files with messages, or the only file whatever it is called."""
    found = [Member(bundle, name) for name in bundle.names()]
    return [
        member
        for member in found
        if len(found) == 1
        or member.path.suffix.casefold() in _ENDINGS
        or member.path.name == "mbox"
    ]


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    files = members(bundle)
    note_unread(bundle, files, notes)
    ids = Tally()
    before: dict[str, str] = {}
    subjects: dict[str, tuple[float, str]] = {}
    with Spool() as spool:
        for content in (each for member in files for each in _messages(member.chunks())):
            mail = _mail(content, notes)
            if mail is not None and ids.add(mail.key) > 1:
                notes.skip("repeated message")
            elif mail is not None:
                at = mail.turn.sent_at.timestamp() if mail.turn.sent_at else inf
                spool.add(mail.root, mail.turn, at)
                if mail.root != mail.key:
                    before[mail.key] = mail.root
                subjects[mail.root] = min(
                    subjects.get(mail.root, (inf, mail.subject)), (at, mail.subject), key=_first
                )
        for told, root in _roots(before, subjects).items():
            spool.join(told, root)
            first = subjects.pop(told)
            subjects[root] = min(subjects.get(root, first), first, key=_first)
        for root in map(str, spool.chats()):
            _, subject = subjects[root]
            answer = _ANSWER.match(subject)
            title = subject[answer.end() :] if answer else subject
            yield from storable(PLATFORM, root, spool.turns(root), notes, options, title=title)


def _first(dated: tuple[float, str]) -> float:
    return dated[0]


def _messages(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the messages of a mailbox, or the only one."""
    lines: list[bytes] = []
    is_mailbox = has_text = False
    for line in _lines(chunks):
        if (is_mailbox or not has_text) and line.startswith(b"From ") and _START.fullmatch(line):
            if is_mailbox:
                yield b"".join(lines)
            lines.clear()
            is_mailbox = True
        else:
            # Writers put ">" before such a line within a message; whoever does not loses nothing.
            is_marked = is_mailbox and line.startswith(b">") and _MARKED.match(line)
            lines.append(line[1:] if is_marked else line)
            has_text = has_text or not line.isspace()
    yield b"".join(lines)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines with their ends, and what comes after the last one."""
    begun: list[bytes] = []
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*begun, line, b"\n"))
            begun.clear()
        begun.append(rest)
    if rest := b"".join(begun):
        yield rest


def _roots(before: Mapping[str, str], told: Iterable[str]) -> dict[str, str]:
    """Return the first message of each thread that is told to begin with an answer.

    ``before`` has the first message that each answer tells.
    """
    roots: dict[str, str] = {}
    for key in told:
        way: dict[str, None] = {}
        at = key
        while at in before and at not in roots and at not in way:
            way[at] = None
            at = before[at]
        roots |= dict.fromkeys(way, roots.get(at, at))
    return {key: roots[key] for key in told if roots.get(key, key) != key}


def _mail(content: bytes, notes: Notes) -> _Mail | None:
    try:
        message = message_from_bytes(content, policy=policy.default)
        if reason := _left(message):
            notes.skip(reason)
            return None
        return _parsed(message)
    except _BROKEN:
        notes.skip("message that cannot be read")
        return None


def _left(message: EmailMessage) -> str:
    """Return why a message is left; empty if it is not."""
    labels = {part.strip().casefold() for part in _header(message, "X-Gmail-Labels").split(",")}
    if labels & _NOT_SENT:
        return "message in spam, trash or drafts"
    is_bulk = "List-Unsubscribe" in message and "List-Post" not in message
    if is_bulk or _header(message, "Auto-Submitted").casefold() not in {"", "no"}:
        return "newsletter or automatic message"
    return "" if _sender(message) else "message without a sender"


def _header(message: EmailMessage, name: str) -> str:
    return clean(str(message.get(name, "")))


def _sender(message: EmailMessage) -> tuple[str, str] | None:
    """Return the name and the address of the sender."""
    for name, address in getaddresses([_header(message, "From")]):
        if "@" in address:
            return label(name) or label(address), label(address).casefold()
    return None


def _parsed(message: EmailMessage) -> _Mail:
    name, address = _sender(message) or ("", "")
    sent_at = _time(_header(message, "Date"))
    subject = label(_header(message, "Subject"))
    text = joined(*_captions(message), _body(message))
    own = _ids(message, "Message-ID")
    at = sent_at.isoformat() if sent_at else ""
    key = own[0] if own else digest([address, at, subject, text])[:32]
    before = [*_ids(message, "References"), *_ids(message, "In-Reply-To")]
    turn = Turn(MessageRole.USER, text, name, address, sent_at, key)
    return _Mail(key, before[0] if before else key, subject, turn)


def _ids(message: EmailMessage, header: str) -> list[str]:
    found = _ID.findall(_header(message, header))
    return [
        key if len(key) <= _LONGEST_ID else digest([key])[:32] for key in map(label, found) if key
    ]


def _time(date: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _captions(message: EmailMessage) -> Iterator[str]:
    for part in message.iter_attachments():
        yield caption(kind_of(part.get_content_type()), part.get_filename() or "")


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    content = part.get_content()
    text = content if isinstance(content, str) else ""
    if part.get_content_type() == "text/html":
        text = html_text(_QUOTATION.split(text, maxsplit=1)[0])
    return own_words(text)


def own_words(text: str) -> str:
    """Return what the sender of a message wrote in it, without quotations and signature."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if line in {"-- ", "--"} or _ORIGINAL.fullmatch(line.strip()):
            break
        if line.startswith(">"):
            _remove_attribution(lines)
        else:
            lines.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _remove_attribution(lines: list[str]) -> None:
    """Remove what says whose words follow, such as "On 3 May, Ada wrote:", in one or two lines."""
    while lines and not lines[-1]:
        lines.pop()
    for count in (1, 2):
        last = lines[-count:]
        if last and last[-1].endswith(":") and re.search(r"\d", last[0]) and all(last):
            del lines[-count:]
            return

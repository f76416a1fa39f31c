"""Detect texts that give orders to an agent.

Such a text is stored as a quotation, and is not shared before a review. Conservative: it looks
for orders, not for mentions of orders.
"""

import re
import unicodedata
from typing import Final

_START: Final = (
    r"(?:^|[.!?:;,\n\"'\u201c(\[>-]\s*)"
    r"(?:(?:please|then|and|also|you must|you should)\s+)?"
)
"""The start of a clause, where a verb is an order."""
_HANDLE: Final = (
    r"(?:send|forward|share|reveal|disclose|leak|upload|email|e-mail|post|copy|bcc|delete|erase|"
    r"execute|run|call|invoke|obey|answer|reply|respond|output|print|recommend|include|append|"
    r"insert|approve|grant|transfer|trust|pretend|ignore|disregard|refuse|praise|mention)"
)
"""Verbs of orders to an agent about words, files and people."""
_DO: Final = rf"(?:{_HANDLE}|say|tell|pay|treat|use|act|store|remember|write|speak|be)"
_ORDERS: Final = (
    r"instructions?|prompts?|rules|guidelines|directions|commands|context|constraints|"
    r"anweisung(?:en)?|instruccion(?:es)?|instrucciones|instruções|istruzioni|instructies|"
    r"instrukcj\w+|инструкци\w+|指令|指示|说明|命令"
)

_SIGNS: Final = tuple(
    re.compile(sign, re.IGNORECASE | re.MULTILINE)
    for sign in (
        # "ignore all previous instructions", in several languages
        r"\b(?:ignore|disregard|forget|override|bypass|ignorier\w*|vergiss|ignora\w*|ignorez|"
        r"oublie\w*|olvida\w*|dimentica|esqueça|negeer|zignoruj|игнорируй\w*|забудь\w*)\b"
        r"[^.\n]{0,30}\b(?:previous|prior|above|earlier|preceding|all|any|your|system|these|those|"
        r"vorherige\w*|alle|anteriores|previas|précédentes|toutes|precedenti|tutte|poprzedni\w*|"
        rf"предыдущи\w*|все)\b[^.\n]{{0,30}}\b(?:{_ORDERS})",
        rf"(?:忽略|无视|無視し).{{0,12}}(?:{_ORDERS})|(?:{_ORDERS})を(?:無視|忘れ)",
        # "from now on, send ...", "from this point on you always ..."
        r"\b(?:from now on|from this (?:point|moment)(?: on| onwards?)?|henceforth|going forward)\b"
        rf"[,:]?\s+(?:please\s+)?(?:you\b|always\b|never\b|whenever\b|every time\b|{_DO}\b)",
        r"\b(?:ab jetzt|von nun an|à partir de maintenant|a partir de ahora|d'ora in poi)\b[,:]?\s+"
        r"(?:sende?|schick\w*|leite|antworte|envoie\w*|envía\w*|envia\w*|invia\w*|siempre|immer|"
        r"toujours|du sollst)\b",
        # a standing order: "remember: always ...", "never mention ..."
        r"\b(?:remember|note|important|attention|reminder)\b\s*[:!-]+\s*(?:you\s+)?"
        r"(?:must\s+|should\s+)?(?:always|never)\b",
        rf"{_START}(?:always|never)\s+{_HANDLE}\b",
        # "send every file to ..."
        rf"{_START}(?:send|forward|upload|email|e-mail|post|copy|bcc|leak|reveal|disclose|delete)\s+"
        r"(?:me\s+|us\s+)?(?:every|all|any|each|everything|the contents?|copies|a copy|"
        r"the password|(?:the |your |my )?(?:system prompt|secrets?|credentials))\b",
        r"\b(?:reveal|print|show|repeat|output|leak|display)\b[^.\n]{0,20}"
        r"\b(?:system prompt|your (?:system |hidden |initial )?(?:prompt|instructions))",
        # a new self for the agent
        r"\byou are now (?:a|an|in|the|my|no longer|free|dan|unrestricted)\b",
        r"\byou (?:must|will|shall|have to) (?:now |always |never )+",
        r"\b(?:developer|god|jailbreak|dan|debug|admin|sudo) mode\b[^.\n]{0,20}"
        r"\b(?:on|enabled|activated|engaged)\b|\benable (?:developer|god|jailbreak|dan) mode\b",
        r"\bnew (?:system )?(?:instructions?|prompt|rules?)\s*:",
        r"\bwhen(?:ever)? (?:the |a )?(?:user|anyone|somebody|someone) asks?\b[^.\n]{0,60}[,:]\s*"
        rf"(?:always |never )?{_DO}\b",
        # markers of a prompt
        r"<\|?/?(?:im_start|im_end|system|assistant|developer|endoftext|start_header_id|eot_id)\|?>",
        r"</?(?:system|instructions?|system[-_ ](?:prompt|message|reminder)|tool_(?:call|result)|"
        r"function_calls?|memory_context)(?:\s[^>]{0,80})?>",
        r"\[/?(?:INST|SYS|SYSTEM)\]|<</?SYS>>",
        r"^\s*#{1,4}\s*(?:system|instructions?|system prompt|new instructions?)\s*:?\s*$",
        r"^\s*(?:system|developer|assistant)(?: prompt| message)?\s*:\s*\S",
    )
)
_HINTS: Final = (
    *("ignor", "disregard", "forget", "overrid", "bypass", "vergiss", "oublie", "olvida"),
    *("esqueça", "dimentica", "negeer", "игнор", "забудь", "忽略", "无视", "無視", "忘れ"),
    *(
        "from now on",
        "from this",
        "henceforth",
        "going forward",
        "ab jetzt",
        "von nun an",
        "partir d",
        "d'ora in poi",
    ),
    *("always", "never", "send", "forward", "upload", "mail", "post", "copy", "bcc", "leak"),
    *("reveal", "disclose", "delete", "print", "show", "repeat", "output", "display"),
    *("you are now", "you must", "you will", "you shall", "you have to", " mode", "new ", "when"),
    *("<", "[inst", "[sys", "[/inst", "[/sys", "#", "system", "developer", "assistant"),
)
"""Every text with one of the signs contains one of these."""

_INVISIBLE: Final = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)


def is_instruction(text: str) -> bool:
    """Return whether ``text`` reads like an order to an agent or like a part of a prompt."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    lower = plain.lower()
    if not any(hint in lower for hint in _HINTS):
        return False
    return any(sign.search(plain) for sign in _SIGNS)

"""Mail, chats of people, notes, calendars and contacts as programs save them, of our own words."""

import base64
import json
from typing import Any

THREAD = "CAG7x@mail.example"
MBOX = (
    "From 1790@xxx Mon Mar 04 09:00:00 +0000 2024\n"
    f"Message-ID: <{THREAD}>\n"
    "Date: Mon, 4 Mar 2024 10:00:00 +0100\n"
    "From: =?utf-8?q?Zo=C3=AB_Bell?= <Zoe@Mail.example>\n"
    "To: Ada <ada@mail.example>\n"
    "Subject: The harpsichord\n"
    "MIME-Version: 1.0\n"
    'Content-Type: multipart/mixed; boundary="b"\n'
    "\n"
    "--b\n"
    'Content-Type: text/plain; charset="iso-8859-1"\n'
    "Content-Transfer-Encoding: quoted-printable\n"
    "\n"
    "I tune the harpsichord at caf=E9 pitch.\n"
    ">From today on, that is.\n"
    "-- \n"
    "Zoe Bell, tuner\n"
    "--b\n"
    "Content-Type: image/jpeg\n"
    'Content-Disposition: attachment; filename="strings.jpg"\n'
    "Content-Transfer-Encoding: base64\n"
    "\n"
    "/9j/\n"
    "--b--\n"
    "\n"
    "From 1791@xxx Mon Mar 04 11:00:00 +0000 2024\n"
    "Message-ID: <2@mail.example>\n"
    f"In-Reply-To: <{THREAD}>\n"
    "Date: Mon, 4 Mar 2024 12:00:00 +0100\n"
    "From: ada@mail.example\n"
    "Subject: Re: The harpsichord\n"
    'Content-Type: text/html; charset="utf-8"\n'
    "\n"
    "<p>Please leave the <b>spinet</b> to me.</p>"
    '<div class="gmail_quote">On Mon, Zoe wrote:<blockquote>I tune it</blockquote></div>\n'
    "\n"
    "From 1792@xxx Tue Mar 05 11:00:00 +0000 2024\n"
    "Message-ID: <3@mail.example>\n"
    f"References: <{THREAD}> <2@mail.example>\n"
    "Date: Tue, 5 Mar 2024 12:00:00 -0000\n"
    "From: Zoe Bell <zoe@mail.example>\n"
    "Subject: Re: The harpsichord\n"
    "\n"
    "Gladly.\n"
    "\n"
    "On Mon, 4 Mar 2024 at 12:00, Ada\n"
    "<ada@mail.example> wrote:\n"
    "> Please leave the spinet to me.\n"
    "\n"
    "From 1794@xxx Tue Mar 05 12:30:00 +0000 2024\n"
    "Message-ID: <5@mail.example>\n"
    "From: Zoe Bell <zoe@mail.example>\n"
    "X-Gmail-Labels: =?UTF-8?Q?Ge=C3=B6ffnet,Entw=C3=BCrfe?=\n"
    "Subject: Draft\n"
    "\n"
    "Not yet.\n"
    "\n"
    "From 1793@xxx Tue Mar 05 12:00:00 +0000 2024\n"
    "Message-ID: <4@news.example>\n"
    "From: Shop <shop@news.example>\n"
    "List-Unsubscribe: <https://news.example/u>\n"
    "Subject: Sale\n"
    "\n"
    "Buy strings.\n"
)


def broken(text: str) -> str:
    """A text as Meta writes it: each byte of its UTF-8 as a character."""
    return text.encode().decode("latin-1")


def messenger() -> dict[str, Any]:
    """Meta's download: a chat of two in two parts, and a chat of three."""
    people = [{"name": broken("Zoë Bell")}, {"name": "Ada Berg"}]
    chat = {
        "participants": people,
        "title": broken("Zoë Bell"),
        "is_still_participant": True,
        "thread_path": "inbox/zoebell_77",
        "magic_words": [],
    }
    inbox = "your_facebook_activity/messages/inbox"
    profile = "personal_information/profile_information/profile_information.json"
    return {
        f"{inbox}/zoebell_77/message_1.json": chat
        | {
            "messages": [
                {
                    "sender_name": "Ada Berg",
                    "timestamp_ms": 1709546520000,
                    "photos": [{"uri": f"{inbox}/zoebell_77/photos/kayak.jpg"}],
                    "reactions": [{"reaction": broken("👍"), "actor": broken("Zoë Bell")}],
                    "sparkle": 1,
                },
                {
                    "sender_name": broken("Zoë Bell"),
                    "timestamp_ms": 1709546460500,
                    "content": broken("My kayak is a Grønland model 🛶"),
                },
                {"sender_name": "Ada Berg", "timestamp_ms": 1709546461000, "is_unsent": True},
            ]
        },
        f"{inbox}/zoebell_77/message_2.json": chat
        | {
            "messages": [
                {
                    "sender_name": "Ada Berg",
                    "timestamp_ms": 1709546400000,
                    "content": "Which kayak?",
                    "share": {"link": "https://kayak.example"},
                },
                {"sender_name": "Ada Berg", "timestamp_ms": 1709546399000, "call_duration": 9},
            ]
        },
        f"{inbox}/trio_78/message_1.json": chat
        | {
            "participants": [*people, {"name": "Cid"}],
            "title": "Trio",
            "messages": [
                {"sender_name": "Cid", "timestamp_ms": 1709546600000, "content": "Paddles at six."}
            ],
        },
        profile: {"profile_v2": {"name": {"full_name": "Ada Berg"}}},
    }


def messenger_encrypted() -> dict[str, Any]:
    """A chat of Messenger's download of encrypted chats."""
    return {
        "participants": ["Ada Berg", "Zoë Bell"],
        "threadName": "Zoë Bell_12",
        "messages": [
            {
                "isUnsent": False,
                "media": [{"uri": "./media/drum.mp4"}],
                "reactions": [],
                "senderName": "Zoë Bell",
                "text": "I drum the bodhrán.",
                "timestamp": 1709546460000,
                "type": "media",
            }
        ],
    }


def matrix() -> dict[str, Any]:
    """A room: somebody joins, a message and its edit, a reply, a picture, a deleted one."""
    message = {"type": "m.room.message", "room_id": "!r:m.example"}
    ada, zoe = "@ada:m.example", "@zoe:m.example"

    def event(key: str, sender: str, at: int, **content: Any) -> dict[str, Any]:
        at += 1709546400000
        return message | {
            "event_id": key, "sender": sender, "origin_server_ts": at, "content": content
        }  # fmt: skip

    relation = {"rel_type": "m.replace", "event_id": "$1"}
    new = {"msgtype": "m.text", "body": "I press cider from russets."}
    return {
        "room_name": "Orchard",
        "room_creator": "Ada",
        "topic": "",
        "export_date": "March 5, 2024",
        "exported_by": "Ada",
        "messages": [
            {
                "type": "m.room.member",
                "event_id": "$0",
                "sender": ada,
                "state_key": ada,
                "room_id": "!r:m.example",
                "origin_server_ts": 1709546399000,
                "content": {"displayname": "Ada", "membership": "join"},
            },
            event("$1", zoe, 0, msgtype="m.text", body="I press cider from rusets."),
            event("$2", zoe, 9, msgtype="m.text", body="* x", **{
                "m.relates_to": relation, "m.new_content": new
            }),
            event("$3", ada, 10, msgtype="m.text", body="> <@zoe> I press\n\nA crate for me.", **{
                "m.relates_to": {"m.in_reply_to": {"event_id": "$1"}}
            }),
            event("$4", ada, 20, msgtype="m.image", body="A crate", filename="crate.png"),
            event("$5", ada, 30),
            event("$6", "@bot:m.example", 40, msgtype="m.notice", body="Noted: a crate."),
            None,
        ],
    }  # fmt: skip


SIGNAL = "\n".join(
    json.dumps(
        {"quote": "", "reactions": [], "sticker": None, "attachments": [], "deleted": False} | line
    )
    for line in (
        {"date": "2024-03-04T11:00:00", "sender": "Zoe", "body": "My cello is from Mirecourt.  "},
        {
            "date": "2024-03-04T11:01:00.500000",
            "sender": "Me",
            "body": "  ",
            "attachments": [{"name": "bow.jpg", "path": "media/bow.jpg"}],
        },
        {"date": "2024-03-04T11:02:00", "sender": "Zoe", "body": "x", "deleted": True},
    )
)


def signal() -> dict[str, Any]:
    """A folder of signal-export with one chat."""
    return {
        "Zoe/chat.md": "[2024-03-04 11:00:00] Zoe: My cello is from Mirecourt.\n",
        "Zoe/data.json": SIGNAL,
    }


ADA, ZOE = (base64.b64encode(letter * 16).decode() for letter in (b"A", b"Z"))
"""Ids of accounts, as Signal writes them."""
SIGNAL_FRAMES = "\n".join(
    map(
        json.dumps,
        (
            {"version": "1", "backupTimeMs": "1772359200000", "currentAppVersion": "8.10.2"},
            {"account": {"profileKey": "c2VjcmV0", "givenName": "Ada", "familyName": "Berg"}},
            {"recipient": {"id": "1", "self": {}}},
            {"recipient": {"id": "2", "contact": {"aci": ZOE, "profileGivenName": "Zoë"}}},
            {
                "recipient": {
                    "id": "3",
                    "contact": {"e164": "31205550100", "systemGivenName": "Cid", "nickname": {}},
                }
            },
            {
                "recipient": {
                    "id": "4",
                    "group": {"masterKey": "c2VjcmV0", "snapshot": {"title": {"title": "Quartet"}}},
                }
            },
            {"chat": {"id": "9", "recipientId": "4"}},
            {"chat": {"id": "8", "recipientId": "1"}},
            {
                "chatItem": {
                    "chatId": "9",
                    "authorId": "2",
                    "dateSent": "1772359260000",
                    "incoming": {"read": True},
                    "revisions": [
                        {"chatId": "9", "authorId": "2", "dateSent": "1772359201000"},
                    ],
                    "standardMessage": {
                        "text": {
                            "body": "\ufffc the spinet is by Ruckers",
                            "bodyRanges": [{"length": 1, "mentionAci": ZOE}],
                        },
                        "attachments": [
                            {
                                "pointer": {"contentType": "audio/aac", "fileName": "a.aac"},
                                "flag": "VOICE_MESSAGE",
                            }
                        ],
                    },
                }
            },
            {
                "chatItem": {
                    "chatId": "9",
                    "authorId": "3",
                    "dateSent": "1772359202000",
                    "stickerMessage": {"sticker": {"emoji": "🎻"}},
                }
            },
            {"chatItem": {"chatId": "9", "authorId": "2", "dateSent": "1772359203000",
                          "directionless": {}, "updateMessage": {"groupCall": {}}}},
            {"chatItem": {"chatId": "9", "authorId": "2", "dateSent": "1772359204000",
                          "remoteDeletedMessage": {}}},
            {"chatItem": {"chatId": "8", "authorId": "1", "dateSent": "1772359205000",
                          "standardMessage": {"text": {"body": "Buy quills"}}}},
        ),
    )
)  # fmt: skip

NOTES = {
    "Garden/Hawthorn.md": (
        "Blooms in May. See ![[medlar]] and [the wall](../Wall%20notes.md#South), [[Nowhere]].\n"
    ),
    "Garden/Medlar.md": (
        "---\ntags: [orchard, fruit]\naliases: [Mespilus]\ncreated: 2024-03-04\n---\n"
        "# Medlar\n\nGrafted onto [[Hawthorn|a hawthorn]] in March. %%Or April?%%\n\n"
        "- [ ] Blet the medlars #autumn\n- Sow cress, see [[Plan]]\n"
    ),
    "Wall notes.md": ("---\n: [\n---\nThe trellis is of ash.\r\n\r\n```python\n#notag\n```\n"),
    "wall.png": "",
}
"""A vault: properties that are YAML and that are none, links of all kinds, a task, code."""

CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Bells//EN
BEGIN:VTIMEZONE
TZID:Europe/Paris
BEGIN:STANDARD
DTSTART:19700101T000000
RRULE:FREQ=SECONDLY
TZOFFSETFROM:+0900
TZOFFSETTO:+0900
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:1@x
DTSTAMP:20240302T100000Z
CREATED:20240301T100000Z
DTSTART;TZID=Europe/Paris:20240304T100000
DTEND;TZID=Europe/Paris:20240304T113000
SUMMARY:Bell founding
LOCATION:Foundry\\, Delft
DESCRIPTION:Bring gloves
ATTENDEE;CN=Zoe Bell:mailto:zoe@x.example
ATTENDEE:mailto:bob@x.example
RRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=20240601T000000Z
EXDATE;TZID=Europe/Paris:20240318T100000
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT10M
END:VALARM
END:VEVENT
BEGIN:VEVENT
UID:1@x
RECURRENCE-ID;TZID=Europe/Paris:20240401T100000
DTSTART;TZID=Europe/Paris:20240401T100000
SUMMARY:Bell founding
STATUS:CANCELLED
END:VEVENT
BEGIN:VEVENT
UID:1@x
RECURRENCE-ID;TZID=Europe/Paris:20240415T100000
DTSTART;TZID=Europe/Paris:20240416T140000
SUMMARY:Bell founding
END:VEVENT
BEGIN:VEVENT
UID:2@x
DTSTART;VALUE=DATE:20240505
DTEND;VALUE=DATE:20240507
SUMMARY:Fair of
  bells
END:VEVENT
BEGIN:VEVENT
UID:3@x
DTSTART;VALUE=DATE:20240505
SUMMARY:Rain date
STATUS:CANCELLED
END:VEVENT
BEGIN:VEVENT
UID:4@x
DTSTART:2024XX
SUMMARY:Broken
END:VEVENT
BEGIN:VTODO
UID:5@x
DUE;VALUE=DATE:20240606
SUMMARY:Order tin
END:VTODO
END:VCALENDAR
"""

CONTACTS = """\
BEGIN:VCARD
VERSION:3.0
UID:c1
FN:Zoe Bell
N:Bell;Zoe;;;
NICKNAME:Zo
ORG:Foundry\\, Delft;Tuning
TITLE:Campanologist
BDAY:1980-03-01
item1.TEL;TYPE=CELL:+31 20 555 0100
EMAIL;TYPE=INTERNET,HOME:zoe@x.example
ADR;TYPE=HOME:;;Kade 1;Delft;;2611;NL
item2.X-ABRELATEDNAMES:Cid
item2.X-ABLABEL:_$!<Spouse>!$_
CATEGORIES:myContacts,Ringers
NOTE:Collects handbells.\\nPlays whist.
PHOTO;ENCODING=b;TYPE=JPEG:/9j/
X-FANCY:1
REV:2024-03-01T10:00:00Z
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=84ngel;X
TEL;CELL;PREF:123
NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Casts =
=C3=B6rgan pipes
END:VCARD
"""

FILES = [
    ("mail", {"mail.mbox": MBOX}),
    ("messenger", messenger()),
    ("matrix", {"export.json": matrix()}),
    ("signal", signal()),
    ("notes", NOTES),
    ("calendar", {"bells.ics": CALENDAR}),
    ("contacts", {"people.vcf": CONTACTS}),
]
"""Files by format."""
SAID = ["harpsichord", "kayak", "cider", "cello", "cress", "founding", "handbells"]
"""Words of what is said in them."""
TODAY = [
    (
        "mail.mbox", MBOX, False, (3, 0), ("email", "zoe@mail.example"), "tune the harpsichord",
        "[photo: strings.jpg]\nI tune the harpsichord at café pitch.\nFrom today on, that is.",
        "Zoë Bell", "2024-03-04T09:00:00+00:00",
    ),
    (
        "facebook-ada.zip", messenger(), True, (4, 0), None, "Which kayak?",
        "Which kayak?\nhttps://kayak.example", "Ada Berg", "2024-03-04T10:00:00+00:00",
    ),
    (
        "matrix-Orchard.json", matrix(), False, (4, 0), ("matrix", "@zoe:m.example"), "cider",
        "I press cider from russets.", "@zoe:m.example", "2024-03-04T10:00:00+00:00",
    ),
    (
        "signal.zip", signal(), True, (2, 0), None, "bow",
        "[photo: bow.jpg]", "Me", "2024-03-04T10:01:00.500000+00:00",
    ),
    (
        "signal-own.zip", {"main.jsonl": SIGNAL_FRAMES, "metadata.json": {"version": 1}}, True,
        (3, 0), None, "quills", "Buy quills", "Ada Berg", "2026-03-01T10:00:05+00:00",
    ),
    (
        "vault.zip", NOTES, True, (0, 9), None, "cress", "Medlar: Sow cress, see Plan", None,
        "2024-03-03T23:00:00+00:00",
    ),
    (
        "bells.ics", CALENDAR, True, (0, 5), None, "gloves", "Bell founding: Bring gloves", None,
        "2024-03-01T10:00:00+00:00",
    ),
    (
        "people.vcf", CONTACTS, True, (0, 12), None, "handbells",
        "Zoe Bell: Collects handbells.\nPlays whist.", None, "2024-03-01T10:00:00+00:00",
    ),
]  # fmt: skip
"""Rows of the test of exports of today."""

"""Mail, chats of people, notes, calendars and contacts as programs save them, of our own words."""

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


FILES = [
    ("mail", {"mail.mbox": MBOX}),
    ("messenger", messenger()),
    ("matrix", {"export.json": matrix()}),
    ("signal", signal()),
]
"""Files by format."""
SAID = ["harpsichord", "kayak", "cider", "cello"]
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
]  # fmt: skip
"""Rows of the test of exports of today."""

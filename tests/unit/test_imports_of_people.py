"""Mail, chats of people, notes, calendars and contacts, read without a store."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import exports_of_people as exports
import pytest
from exports import saved, zipped

from remembrancer import InvalidInput
from remembrancer.importers import Export, Format, Options, open_export
from remembrancer.importers.formats import contacts, mail

PARIS = ZoneInfo("Europe/Paris")


def opened(path: Path, **options: object) -> Export:
    return open_export(path, options=Options(**options))  # type: ignore[arg-type]


def turns_of(export: Export) -> list[tuple[str, list[tuple[str | None, str]]]]:
    return [
        (chat.title, [(turn.platform_user_id, turn.content) for turn in chat.turns])
        for chat in export.transcripts()
    ]


def test_case_57_mail_comes_in_threads(tmp_path: Path) -> None:
    """Who wrote what, without quotations, signatures and newsletters, in any charset."""
    export = opened(saved(tmp_path / "mail.mbox", exports.MBOX))
    assert export.format is Format.MAIL
    zoe, ada = "zoe@mail.example", "ada@mail.example"
    assert turns_of(export) == [
        (
            "The harpsichord",
            [
                (
                    zoe,
                    "[photo: strings.jpg]\nI tune the harpsichord at café pitch.\n"
                    "From today on, that is.",
                ),
                (ada, "Please leave the spinet to me."),
                (zoe, "Gladly."),
            ],
        )
    ]
    [thread] = export.transcripts()
    assert thread.conversation == exports.THREAD
    assert thread.turns[2].sent_at == datetime(2024, 3, 5, 12, tzinfo=UTC)
    assert next(thread.messages()).metadata == {"sent_at": "2024-03-04T10:00:00+01:00"}
    assert export.notes.skipped == {
        "newsletter or automatic message": 1,
        "message in spam, trash or drafts": 1,
    }
    # A message of it alone is the same message of the same thread.
    content = exports.MBOX.split("From 1792@xxx")[1].split("\n", 1)[1].split("From 1794@")[0]
    [single] = opened(saved(tmp_path / "answer.eml", content)).transcripts()
    assert single.conversation == thread.conversation
    assert list(single.messages()) == list(thread.messages())[2:]
    folder = {"a/answer.eml": content, "a/b/again.eml": content}
    export = opened(zipped(tmp_path / "mail.zip", folder))
    assert len(turns_of(export)) == 1
    assert export.notes.skipped == {"repeated message": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes.\n\nAm 05.03.24 um 10:00 schrieb Ada:\n> No?", "Yes."),
        ("My reasons:\n> Why?\nBecause.", "My reasons:\nBecause."),
        ("Yes.\n-----Original Message-----\nFrom: Ada", "Yes."),
        ("Yes.\r\n-- \r\nAda", "Yes."),
    ],
)
def test_mail_without_words_of_others(text: str, said: str) -> None:
    """A quotation goes with what announces it; a line of the sender's own stays."""
    assert mail.own_words(text) == said


def test_case_57_messenger_reads_all_parts_in_order(tmp_path: Path) -> None:
    """Broken characters are mended; the account's own words are of whom the import is for."""
    export = opened(zipped(tmp_path / "facebook.zip", exports.messenger()))
    assert export.format is Format.MESSENGER
    assert turns_of(export) == [
        ("Trio", [("Cid", "Paddles at six.")]),
        (
            "Zoë Bell",
            [
                (None, "Which kayak?\nhttps://kayak.example"),
                ("Zoë Bell", "My kayak is a Grønland model 🛶"),
                (None, "[photo: kayak.jpg]"),
            ],
        ),
    ]
    _, chat = export.transcripts()
    assert (chat.platform, chat.conversation, chat.personal) == ("messenger", "zoebell_77", True)
    assert chat.turns[1].sent_at == datetime(2024, 3, 4, 10, 1, 0, 500000, tzinfo=UTC)
    assert export.notes.skipped == {"message that was taken back": 1, "message of kind call": 1}
    assert export.notes.unknown == {"message.sparkle": 1}


def test_messenger_asks_whose_account_it_is(tmp_path: Path) -> None:
    """A chat of two tells by its title, an encrypted one does not."""
    files = exports.messenger()
    files.pop("personal_information/profile_information/profile_information.json")
    with pytest.raises(InvalidInput, match=r"trio_78.*does not name its account"):
        turns_of(opened(zipped(tmp_path / "facebook.zip", files)))
    [chat] = [content for name, content in files.items() if "message_2" in name]
    assert turns_of(opened(saved(tmp_path / "message_1.json", chat)))[0][1][0][0] is None
    file = saved(tmp_path / "Zoë_12.json", exports.messenger_encrypted())
    with pytest.raises(InvalidInput, match="--as"):
        turns_of(opened(file))
    with pytest.raises(InvalidInput, match="nobody with the name"):
        turns_of(opened(file, me="Eve"))
    [(_, turns)] = turns_of(opened(file, me="ada berg"))
    assert turns == [("Zoë Bell", "[video: drum.mp4]\nI drum the bodhrán.")]
    folder = {f"e2ee/Zoë_{number}.json": exports.messenger_encrypted() for number in (12, 13)}
    export = opened(zipped(tmp_path / "e2ee.zip", folder), me="Ada Berg")
    assert (export.format, len(turns_of(export))) == (Format.MESSENGER, 2)


def test_case_57_matrix_has_edits_in_place(tmp_path: Path) -> None:
    """Once, in their latest words; replies without what they answer; the exporter is known."""
    export = opened(saved(tmp_path / "matrix-Orchard.json", exports.matrix()))
    assert export.format is Format.MATRIX
    ada = "@ada:m.example"
    assert turns_of(export) == [
        (
            "Orchard",
            [
                ("@zoe:m.example", "I press cider from russets."),
                (ada, "A crate for me."),
                (ada, "[photo: crate.png]\nA crate"),
                (None, "Noted: a crate."),
            ],
        )
    ]
    account = export.account()
    assert account is not None
    assert account.platform_user_id == ada
    assert export.notes.skipped == {
        "message that was not decrypted": 1,
        "event of kind m.room.member": 1,
        "edit of a message": 1,
        "deleted message": 1,
    }
    zipped_too = zipped(tmp_path / "m.zip", {"x/export.json": exports.matrix(), "x/a.png": "x"})
    assert turns_of(opened(zipped_too)) == turns_of(export)


def test_case_57_signal_by_chats(tmp_path: Path) -> None:
    """A folder of chats, or the file of one; local times need their zone."""
    export = opened(zipped(tmp_path / "signal.zip", exports.signal()), time_zone=PARIS)
    assert export.format is Format.SIGNAL
    turns = [("Zoe", "My cello is from Mirecourt."), (None, "[photo: bow.jpg]")]
    assert turns_of(export) == [("Zoe", turns)]
    [chat] = export.transcripts()
    assert chat.turns[0].sent_at == datetime(2024, 3, 4, 10, tzinfo=UTC)
    assert export.notes.skipped == {"deleted message": 1}
    alone = saved(tmp_path / "data.json", exports.SIGNAL)
    assert turns_of(opened(alone, time_zone=PARIS))[0][1] == turns
    with pytest.raises(InvalidInput, match=r"line 1, date: has no time zone"):
        turns_of(opened(alone))


def test_case_57_signal_by_records(tmp_path: Path) -> None:
    """Signal's own export: edits under their first time, names for mentions, no key of a group."""
    files = {"x/main.jsonl": exports.SIGNAL_FRAMES, "x/metadata.json": {"version": 1}}
    export = opened(zipped(tmp_path / "signal.zip", files))
    assert export.format is Format.SIGNAL
    zoe = "5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a"
    assert turns_of(export) == [
        (
            "Quartet",
            [
                (zoe, "[voice: a.aac]\n@Zoë the spinet is by Ruckers"),
                ("+31205550100", "[sticker: 🎻]"),
            ],
        ),
        ("Note to Self", [(None, "Buy quills")]),
    ]
    group, own = export.transcripts()
    assert group.people == {zoe: "Zoë", "+31205550100": "Cid"}
    assert group.turns[0].message_id == f"1772359201000-{zoe}"
    assert group.turns[0].sent_at == datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC)
    assert "c2VjcmV0" not in group.conversation
    assert (own.conversation, own.turns[0].sender) == ("notes", "Ada Berg")
    assert export.notes.skipped == {"notice": 1, "deleted message": 1}
    alone = opened(saved(tmp_path / "main.jsonl", exports.SIGNAL_FRAMES))
    assert (alone.format, turns_of(alone)) == (Format.SIGNAL, turns_of(export))


def contents(export: Export) -> list[str]:
    return [memory.content for memory in export.memories()]


@pytest.mark.parametrize("unpacked", [True, False])
def test_case_57_notes_keep_their_links(tmp_path: Path, unpacked: bool) -> None:
    """A paragraph is part of its note; of two notes with a link, the later one has the other."""
    if unpacked:
        for name, text in exports.NOTES.items():
            saved(tmp_path / "vault" / name, text)
    export = opened(tmp_path / "vault" if unpacked else zipped(tmp_path / "v.zip", exports.NOTES))
    assert export.format is Format.NOTES
    memories = {memory.content: memory for memory in export.memories()}
    hawthorn, medlar, wall = (
        "Note Hawthorn, in the folder Garden",
        "Note Medlar, also called Mespilus, in the folder Garden, "
        "with the tags orchard, fruit, autumn",
        "Note Wall notes",
    )
    parts = {
        hawthorn: ["Hawthorn: Blooms in May. See medlar and the wall, Nowhere."],
        medlar: [
            "Medlar: Grafted onto a hawthorn in March.",
            "Blet the medlars #autumn",
            "Medlar: Sow cress, see Plan",
        ],
        wall: ["Wall notes: The trellis is of ash.", "Wall notes: ```python\n#notag\n```"],
    }
    assert list(memories) == [text for note, rest in parts.items() for text in (note, *rest)]
    for note, rest in parts.items():
        for text in rest:
            assert memories[text].associations == [(memories[note].key, "part_of")]
    related = [(memories[hawthorn].key, "related_to")]
    assert [memories[note].associations for note in parts] == [[], related, related]
    assert memories["Blet the medlars #autumn"].kind == "todo"
    assert memories[medlar].at == datetime(2024, 3, 4, tzinfo=UTC)
    assert export.notes.skipped == {
        "link to what is no note": 2,
        "properties that are no YAML": 1,
        "png file": 1,
    }
    alone = saved(tmp_path / "Daily.md", "One line.")
    assert contents(opened(alone)) == ["Note Daily", "Daily: One line."]
    mixed = zipped(tmp_path / "m.zip", {"README.md": "x", "a.json": "[]", "b.json": "[]"})
    with pytest.raises(InvalidInput, match="is not a known export"):
        opened(mixed)


def test_properties_of_a_note_have_a_bound(tmp_path: Path) -> None:
    """Keys that are merged, and merged again, are texts; a long head is left."""
    merged = "\n".join(f"k{n}: &k{n} {{<<: [*k{n - 1}, *k{n - 1}]}}" for n in range(1, 40))
    for head, skipped in ((f"k0: &k0 {{a: b}}\n{merged}", 0), ("x: y\n" * 5000, 1)):
        export = opened(saved(tmp_path / "Beech.md", f"---\n{head}\n---\nText"))
        assert contents(export) == ["Note Beech", "Beech: Text"]
        assert export.notes.skipped["properties that are no YAML"] == skipped


def test_case_57_calendars_with_zones(tmp_path: Path) -> None:
    """Times with their zone, repetitions, people, tasks; definitions of zones are not read."""
    export = opened(saved(tmp_path / "bells.ics", exports.CALENDAR))
    assert export.format is Format.CALENDAR
    founding, about, moved, fair, tin = export.memories()
    assert founding.content == (
        "Bell founding: 2024-03-04 10:00 to 11:30 Europe/Paris, every 2 weeks until 2024-06-01 "
        "except on 2024-03-18 and 2024-04-01, at Foundry, Delft, with Zoe Bell, bob@x.example."
    )
    assert founding.metadata == {"calendar_starts_at": "2024-03-04T10:00:00+01:00"}
    assert founding.at == datetime(2024, 3, 1, 10, tzinfo=UTC)
    assert about.content == "Bell founding: Bring gloves"
    assert about.associations == [(founding.key, "part_of")]
    assert moved.content == (
        "Bell founding: 2024-04-16 14:00 Europe/Paris, instead of 2024-04-15 10:00 Europe/Paris."
    )
    assert fair.content == "Fair of bells: 2024-05-05 to 2024-05-06."
    assert (tin.content, tin.kind) == ("To do: Order tin, due 2024-06-06.", "todo")
    assert export.notes.skipped == {
        "cancelled entry": 2,
        "entry without a title or a valid time": 1,
    }
    broken = saved(tmp_path / "b.ics", "BEGIN:VEVENT\nx")
    with pytest.raises(InvalidInput, match=r"b\.ics: is no calendar"):
        contents(opened(broken))


def test_case_57_contacts_of_both_versions(tmp_path: Path) -> None:
    """A person, and facts that are part of them, of either version."""
    export = opened(saved(tmp_path / "people.vcf", exports.CONTACTS))
    assert export.format is Format.CONTACTS
    assert contents(export) == [
        "Zoe Bell is one of the contacts, in Ringers.",
        "Zoe Bell is also called Zo.",
        "Zoe Bell works at Foundry, Delft, Tuning as Campanologist.",
        "Zoe Bell's birthday is on 1980-03-01.",
        "Zoe Bell's telephone number (cell) is +31 20 555 0100.",
        "Zoe Bell's e-mail address (home) is zoe@x.example.",
        "Zoe Bell's address (home) is Kade 1, Delft, 2611, NL.",
        "Zoe Bell's spouse is Cid.",
        "Zoe Bell: Collects handbells.\nPlays whist.",
        "X Ängel is one of the contacts.",
        "X Ängel's telephone number (cell) is 123.",
        "X Ängel: Casts örgan pipes",
    ]
    assert export.notes.unknown == {"contact.x-fancy": 1}
    person, *facts = list(export.memories())[:9]
    assert {memory.subject for memory in (person, *facts)} == {"Zoe Bell"}
    assert all(fact.associations == [(person.key, "part_of")] for fact in facts)
    with pytest.raises(InvalidInput, match="is no list of contacts"):
        contents(opened(saved(tmp_path / "a.vcf", "FN:x")))
    with pytest.raises(InvalidInput, match="ends within a contact"):
        contents(opened(saved(tmp_path / "b.vcf", exports.CONTACTS.removesuffix("END:VCARD\n"))))


@pytest.mark.parametrize(
    ("text", "day"),
    [("19800301", "1980-03-01"), ("--0301", "03-01"), ("1604-03-01", "03-01"), ("spring", None)],
)
def test_birthdays(text: str, day: str | None) -> None:
    """With dashes or without, and without a year that nobody knows."""
    assert contacts._day(text) == day

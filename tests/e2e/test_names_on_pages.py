"""People, agents, spaces and keys have their names on every page; no id is to be read there."""

import re
from typing import Any
from uuid import uuid4

import html_pages
import pytest
from helpers import ADMIN, person, rows
from pages import Browser, World, base

from remembrancer import Role, as_actor
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.schemas import MemoryFilter

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
COPIED = {"own-id": "for the owner of a space, who invites by it"}
"""Elements with an id that a person copies, and what for."""


def seen(element: Any) -> str:
    """The text of an element as a person may see it, also in what is closed yet, and in fields."""
    if not isinstance(element.tag, str) or element.tag in {"script", "style", "head"}:
        return element.tail or ""
    if element.get("id") in COPIED:
        return element.tail or ""
    typed = element.get("value") if element.get("type") not in {"hidden", "checkbox"} else None
    shown = [typed] if element.tag == "input" and typed else []
    shown += [element.get("placeholder") or "", element.text or "", *map(seen, element)]
    return " ".join(shown) + (element.tail or "")


async def ids_seen(browser: Browser, pages: list[str]) -> list[str]:
    """The ids that are to be read on pages, each with what stands before it."""
    found = []
    for path in pages:
        page = await browser.client.get(path)
        text = " ".join(seen(html_pages.document(page.text)).split())
        found += [
            f"{path}: …{text[max(one.start() - 60, 0) : one.end()]}" for one in ID.finditer(text)
        ]
    return found


async def filled(world: World) -> None:
    """Something in every list that may show an id."""
    await world.memory.users.merge(ADMIN, world.ada.id, (await person(world.memory, "Eve")).id)
    await world.memory.spaces.invite(as_actor(world.ada), world.space, user_id=uuid4())
    await world.memory.saved_filters.save(
        as_actor(world.ada), "Pantry's", MemoryFilter(kept_for=world.agents["Pantry"].id)
    )
    arguments = f'{{"user_id": "{world.ada.id}", "agent_id": "{world.agents["Pantry"].id}"}}'
    rows("SELECT jobs.enqueue('none', 'none', 'none:1', CAST(%s AS jsonb))", arguments)
    own = KeyCreate(name="own", role=Role.USER, user_id=world.ada.id)
    await world.memory.keys.create(ADMIN, own)
    await world.memory.reads.flush()


async def test_a_person_reads_no_id_but_their_own_to_copy(world: World, ada_there: Browser) -> None:
    """On every page about themselves."""
    await filled(world)
    assert await ids_seen(ada_there, world.pages_of_ada) == []


async def test_an_admin_reads_no_id_on_any_page(world: World, admin_there: Browser) -> None:
    """On the pages for admins, and on those about a person."""
    await filled(world)
    assert await ids_seen(admin_there, [*world.pages_of_admins, *world.pages_of_ada]) == []


async def test_an_id_on_a_page_is_found(
    world: World, ada_there: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counter-proof: the own id, where it is not said to be copied."""
    monkeypatch.delitem(COPIED, "own-id")
    found = await ids_seen(ada_there, [f"{base(world)}/profile"])
    assert [str(world.ada.id) in one for one in found] == [True]

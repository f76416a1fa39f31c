"""People by part of a name or id, names in place of ids, and nobody's name where it is not seen."""

import re
from uuid import uuid4

import html_pages
import pytest
from helpers import ADMIN, person, rows
from pages import CORPUS, Browser, World, base, browsing

from remembrancer import ResolveUser, SpaceCreate, as_actor
from remembrancer.access import Actor, Role
from remembrancer.errors import Forbidden, InvalidInput


async def found(world: World, text: str, actor: Actor = ADMIN) -> list[str]:
    """The names that a text finds for somebody."""
    return [one.display_name for one in await world.memory.names.find(actor, text)]


async def test_part_of_a_name_or_id_finds_a_person(world: World) -> None:
    """In upper or lower case; the whole name first; signs of a pattern are letters."""
    for name in ("Adalbert", "Zoe Ada", "100% Bob_y"):
        await person(world.memory, name)
    assert await found(world, "ada") == ["Ada", "Adalbert", "Zoe Ada"]
    assert await found(world, "zo") == ["Zoe Ada"]
    assert await found(world, "0% bob_") == ["100% Bob_y"]
    assert await found(world, "%") == ["100% Bob_y"]
    assert await found(world, "telegram:7") == ["Bob"]
    assert await found(world, "184405") == ["Ada"]
    assert await found(world, str(world.bob.id)[:-1].upper()) == ["Bob"]
    assert await found(world, "nobody at all") == []
    for text in ("", " ", "\x00", "x" * 256):
        with pytest.raises(InvalidInput):
            await found(world, text)


async def test_a_person_who_was_merged_is_found_once(world: World) -> None:
    """By the platform ids of both; the former name still names the former id."""
    await world.memory.users.merge(ADMIN, world.ada.id, world.bob.id)
    assert await found(world, "Bob") == []
    assert await found(world, "telegram:7") == ["Ada"]
    assert await world.memory.names.people(ADMIN, [world.bob.id]) == {world.bob.id: "Bob"}


async def test_people_see_the_names_of_those_they_share_a_space_with(world: World) -> None:
    """And of nobody else, by whatever text or id; and nobody's platform ids."""
    names, eve = world.memory.names, await person(world.memory, "Eve")
    ada = Actor(Role.USER, user_id=world.ada.id)
    [bob] = await names.find(ada, "b")
    assert (bob.display_name, list(bob.links)) == ("Bob", [])
    for text in ("Eve", "e", "telegram:7", "7", str(world.bob.id), str(eve.id), "Ada"):
        assert await found(world, text, ada) == [], text
    asked = [world.ada.id, world.bob.id, eve.id, uuid4()]
    assert await names.people(ada, asked) == {world.bob.id: "Bob"}
    hers = Actor(Role.USER, user_id=eve.id)
    assert await names.people(hers, asked) == {}
    await world.memory.spaces.invite(as_actor(world.ada), world.space, user_id=eve.id)
    assert await found(world, "Bob", hers) == [], "who is invited is no member yet"
    with pytest.raises(Forbidden):
        await names.of(ada, asked)
    await world.memory.spaces.leave(as_actor(world.bob), world.space)
    assert await found(world, "Bob", ada) == []


async def test_choices_are_for_who_is_signed_in(
    world: World, ada_there: Browser, admin_there: Browser
) -> None:
    """The options of the picker: everybody for an admin, fellows for others, nothing for nobody."""
    eve = await person(world.memory, "Eve")
    for text, seen in (("Eve", False), ("discord", False), (str(eve.id), False), ("Bo", True)):
        page = await ada_there.client.get("/choices", params={"person": text})
        assert ("data-id" in page.text) is seen, text
        assert str(eve.id) not in page.text
    page = await admin_there.client.get("/choices", params={"person": "eve"})
    assert str(eve.id) in page.text
    assert "discord:Eve-1" in page.text
    assert "data-id" not in (await admin_there.client.get("/choices?person=")).text
    admin_there.client.cookies.clear()
    assert (await admin_there.client.get("/choices?person=eve")).status_code == 401


async def test_without_scripts_a_name_is_looked_up_and_asked_about(
    world: World, admin_there: Browser
) -> None:
    """One whole name is taken; part of one, or a name of two, gives a list to choose from."""
    twin = await person(world.memory, "Ada", platform="matrix")
    await admin_there.get("/admin/keys")
    key = {"name": "phone", "role": "user"}
    page = await admin_there.post("/admin/keys", 422, person="Ada", **key)
    assert "choose one of the people below" in page.lower()
    options = set(re.findall(r'<option value="([0-9a-f-]{36})"', page))
    assert options == {str(world.ada.id), str(twin.id)}
    html_pages.check(admin_there.page)
    chosen = {"person": "Ada", "person_for": "Ada", "user_id": str(twin.id)}
    assert "rmb_" in await admin_there.post("/admin/keys", **key, **chosen)
    holder = "SELECT user_id FROM api_keys ORDER BY created_at DESC LIMIT 1"
    assert rows(holder) == [(twin.id,)]
    page = await admin_there.post("/admin/keys", 422, person="Bo", **key)
    assert f'<option value="{world.bob.id}"' in page, "part of a name is asked about"
    assert "rmb_" in await admin_there.post("/admin/keys", person="bob", **key)
    assert rows(holder) == [(world.bob.id,)]
    page = await admin_there.post("/admin/keys", 422, person="Zoltan", **key)
    assert 'id="wrong-person"' in page
    assert 'value="Zoltan"' in page


async def test_a_text_that_changed_counts_before_the_id_chosen_earlier(
    world: World, admin_there: Browser
) -> None:
    """Without scripts, the hidden id is that of the text before: it is not taken."""
    stale = {"user_id": str(world.ada.id), "person_for": "Ada"}
    await admin_there.get("/admin/keys")
    key = {"name": "phone", "role": "user"}
    await admin_there.post("/admin/keys", person="Bob", **key, **stale)
    holder = "SELECT user_id FROM api_keys ORDER BY created_at DESC LIMIT 1"
    assert rows(holder) == [(world.bob.id,)]
    await admin_there.post("/admin/keys", 422, person="", **key, **stale)


async def test_lists_have_names_with_the_ids_beside_them(
    world: World, admin_there: Browser
) -> None:
    """Keys, jobs and merges."""
    ada = str(world.ada.id)
    await admin_there.get("/admin/keys")
    await admin_there.post("/admin/keys", name="phone", role="user", user_id=ada)
    named = f'title="{ada}">Ada</a>'
    assert named in await admin_there.get("/admin/keys")
    rows(
        "SELECT jobs.enqueue('none', 'none', 'none:2', CAST(%s AS jsonb))",
        f'{{"user_id": "{ada}", "other": "no id"}}',
    )
    page = await admin_there.get("/admin/jobs")
    assert named in page
    assert "<code>no id</code>" in page
    await admin_there.get(f"{base(world)}/profile")
    page = await admin_there.get(f"{base(world)}/merge?person=Bob")
    assert "Merge Bob into Ada" in page
    page = await admin_there.get(f"{base(world)}/merge?person=B", 422)
    assert f'<option value="{world.bob.id}"' in page
    page = await admin_there.post(f"{base(world)}/merge", other=str(world.bob.id))
    assert f'title="{world.bob.id}">Bob</span>' in page
    undo = re.search(r'action="([^"]+/merges/[^"]+/undo)"', page)
    assert undo
    assert "The other one: Bob" in await admin_there.post(undo[1])


async def test_an_owner_invites_by_the_names_that_they_know(
    world: World, ada_there: Browser
) -> None:
    """A fellow by name; a stranger's name and one of nobody are answered alike."""
    eve = await person(world.memory, "Eve")
    space = await world.memory.spaces.create(as_actor(world.ada), SpaceCreate(name="Allotment"))
    one = f"{base(world)}/spaces/{space.id}"
    await ada_there.get(one)
    page = await ada_there.post(f"{one}/invitations", person="Bob")
    assert f'title="{world.bob.id}">Bob</span>' in page
    answers = []
    for name in ("Eve", "Zoltan"):
        page = await ada_there.post(f"{one}/invitations", 422, person=name)
        assert 'id="wrong-person"' in page
        answers.append(re.sub(r'value="[^"]*"', "", page).replace(name, ""))
    assert answers[0] == answers[1]
    for invitee in (str(eve.id), str(uuid4())):
        page = await ada_there.post(f"{one}/invitations", person=invitee)
        assert f'title="{invitee}">Somebody by id</span>' in page
        assert "Eve" not in page


async def test_nobody_is_taken_for_the_id_that_they_call_themselves(
    world: World, ada_there: Browser
) -> None:
    """A fellow whose name is the platform id or the id of somebody else is not invited for them."""
    eve = await person(world.memory, "Eve")
    space = await world.memory.spaces.create(as_actor(world.ada), SpaceCreate(name="Allotment"))
    one = f"{base(world)}/spaces/{space.id}"
    for name in ("discord:Eve-1", str(eve.id)):
        rows("UPDATE users SET display_name = %s WHERE id = %s", name, world.bob.id)
        await ada_there.get(one)
        page = await ada_there.post(f"{one}/invitations", person=name)
        assert f'title="{name}"' in page
        assert str(world.bob.id) not in page


async def test_hostile_names_are_text_in_pickers_and_lists(
    app: object, world: World, admin_there: Browser
) -> None:
    """In options, selects, titles and links."""
    for text in CORPUS:
        who = ResolveUser(platform="x", platform_user_id=text, display_name=text)
        await world.memory.users.resolve(as_actor(), who)
    shown = ""
    for text in ("<", "alert", "evil", "1009*9973", "<iframe", "<math", "<noscript", "&lt;"):
        options = (await admin_there.client.get("/choices", params={"person": text})).text
        parsed = html_pages.document(f"<!doctype html><title>x</title><ul>{options}</ul>")
        assert {one.tag for one in parsed.iter("script")} == set()
        shown += "".join(parsed.itertext())
        for path in ("/admin/people", f"{base(world)}/merge"):
            name = "name" if path.endswith("people") else "person"
            response = await admin_there.client.get(path, params={name: text})
            assert response.status_code in {200, 422}
            html_pages.check(response.text)
    assert all(one in shown for one in CORPUS if "evil" in one or "alert" in one)
    async with browsing(app, world.memory, world.ada, base(world)) as ada:
        assert "data-id" not in (await ada.client.get("/choices?person=alert")).text

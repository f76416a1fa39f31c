"""API keys: rotated and revoked, by id and by name."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers import ADMIN, Api, audit_lines, rows

from remembrancer import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Remembrancer,
    Role,
    User,
    as_actor,
)
from remembrancer.access import Actor
from remembrancer.cli.admin_key import ensure_admin_key
from remembrancer.keys.schemas import KeyCreate


async def _is_valid(api: Api, secret: str) -> bool:
    headers = {"Authorization": f"Bearer {secret}"}
    return (await api.client.get("/api/agents", headers=headers)).status_code == 200


async def test_a_rotated_key_has_a_new_secret_and_a_grace_for_the_old(
    api: Api, memory: Remembrancer
) -> None:
    """Both work for a while; then the old one ends, and by its name the new one is revoked."""
    old = await memory.keys.create(ADMIN, KeyCreate(name="a/bot", role=Role.SERVICE))
    response = await api.client.post(
        "/api/keys/a%2Fbot/rotate", json={"grace": 60}, headers=api.admin
    )
    new = response.json()
    assert response.status_code == 201
    assert (new["name"], new["role"], new["expires_at"]) == ("a/bot", "service", None)
    assert await _is_valid(api, old.secret)
    assert await _is_valid(api, new["secret"])
    names = {key.name for key in (await memory.keys.list(ADMIN)).items}
    assert {"a/bot", "a/bot (old)"} <= names
    rows("UPDATE api_keys SET expires_at = now() WHERE id = %s", old.id)
    assert not await _is_valid(api, old.secret)
    revoked = await api.client.delete("/api/keys/a%2Fbot", headers=api.admin)
    assert revoked.json()["id"] == new["id"]
    assert not await _is_valid(api, new["secret"])
    [line] = [line for line in audit_lines() if line.action == "key.rotate"]
    assert line.target_ids == [str(old.id), new["id"]]


async def test_the_old_secret_ends_after_a_day_or_at_once(api: Api, memory: Remembrancer) -> None:
    """A day by default; without a grace at once, and no key is rotated twice into two."""
    old = await memory.keys.create(ADMIN, KeyCreate(name="slow", role=Role.SERVICE))
    await memory.keys.rotate(ADMIN, old.id)
    [ends] = [key.expires_at for key in (await memory.keys.list(ADMIN)).items if key.id == old.id]
    assert ends
    assert timedelta(hours=23) < ends - datetime.now(UTC) <= timedelta(hours=24)
    old = await memory.keys.create(ADMIN, KeyCreate(name="bot", role=Role.SERVICE))
    assert await _is_valid(api, old.secret)
    new = await memory.keys.rotate(ADMIN, old.id, grace=0)
    assert not await _is_valid(api, old.secret)
    assert await _is_valid(api, new.secret)
    with pytest.raises(Conflict):
        await memory.keys.rotate(ADMIN, old.id)


async def test_a_name_that_is_no_key_or_several_is_refused(api: Api, memory: Remembrancer) -> None:
    """For admins alone, whatever the name has in it; several are told by their ids."""
    pair = [
        await memory.keys.create(ADMIN, KeyCreate(name="bot", role=Role.SERVICE)) for _ in range(2)
    ]
    with pytest.raises(Conflict, match=str(pair[0].id)):
        await memory.keys.revoke(ADMIN, "bot")
    for name in ("robot", "\x00", "\ud800", str(memory)):
        with pytest.raises(NotFound):
            await memory.keys.rotate(ADMIN, name)
    for path, status in (("bot", 409), ("%00", 404), ("robot", 404)):
        response = await api.client.delete(f"/api/keys/{path}", headers=api.admin)
        assert response.status_code == status
        response = await api.client.post(f"/api/keys/{path}/rotate", headers=api.service)
        assert response.status_code == 403
    response = await api.client.post(
        "/api/keys/bot/rotate", json={"grace": 2592001}, headers=api.admin
    )
    assert response.status_code == 422


async def test_a_grace_in_the_wrong_place_says_where_it_belongs(
    api: Api, memory: Remembrancer
) -> None:
    """Whoever left it out would get a day; the same for a parameter in the body."""
    await memory.keys.create(ADMIN, KeyCreate(name="bot", role=Role.SERVICE))
    refused = await api.client.post("/api/keys/bot/rotate?grace=0", headers=api.admin)
    assert (refused.status_code, refused.json()["detail"]) == (
        422,
        "grace: belongs in the JSON body of this request",
    )
    refused = await api.client.post("/api/retention", json={"dry_run": False}, headers=api.admin)
    assert (refused.status_code, refused.json()["detail"]) == (
        422,
        "dry_run: belongs in the query of this request",
    )


async def test_a_key_that_has_expired_already_is_not_created(
    api: Api, memory: Remembrancer
) -> None:
    """The error names the field; nothing is stored."""
    before = len((await memory.keys.list(ADMIN)).items)
    body = {"name": "late", "role": "service", "expires_at": "2026-01-01T00:00:00+01:00"}
    with pytest.raises(InvalidInput, match="expires_at: is in the past; name a later time"):
        await memory.keys.create(ADMIN, KeyCreate.model_validate(body))
    refused = await api.client.post("/api/keys", json=body, headers=api.admin)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "expires_at")
    assert len((await memory.keys.list(ADMIN)).items) == before


async def test_a_stale_admin_key_is_told(
    memory: Remembrancer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A revoked one stays revoked; without its file, the next start makes a new one."""
    monkeypatch.setattr(memory.settings, "data_dir", tmp_path)
    path, is_valid = await ensure_admin_key(memory)
    assert is_valid
    [key] = [key for key in (await memory.keys.list(ADMIN)).items if str(path)[:50] in key.name]
    await memory.keys.revoke(ADMIN, key.id)
    assert await ensure_admin_key(memory) == (path, False)
    path.unlink()
    assert await ensure_admin_key(memory) == (path, True)


async def test_a_user_has_keys_of_their_own(
    api: Api, memory: Remembrancer, ada: User, bob: User
) -> None:
    """They create, list, rotate and revoke these, and find no other."""
    bobs = await memory.keys.create(ADMIN, KeyCreate(name="phone", role=Role.USER, user_id=bob.id))
    mine = await api.key_of(ada)
    body = {"name": "phone", "role": "user", "user_id": str(ada.id)}
    made = (await api.client.post("/api/keys", json=body, headers=mine)).json()
    own = {"Authorization": f"Bearer {made['secret']}"}
    listed = (await api.client.get("/api/keys", headers=own)).json()["items"]
    assert {key["user_id"] for key in listed} == {str(ada.id)}
    assert made["id"] in {key["id"] for key in listed}
    for key in (bobs.id, "admin"):
        gone = await api.client.delete(f"/api/keys/{key}", headers=own)
        assert gone.status_code == 404
        assert (await api.client.post(f"/api/keys/{key}/rotate", headers=own)).status_code == 404
    # Two keys have this name; one of them is the user's.
    rotated = await api.client.post("/api/keys/phone/rotate", headers=own)
    assert (rotated.status_code, rotated.json()["user_id"]) == (201, str(ada.id))
    revoked = await api.client.delete(f"/api/keys/{rotated.json()['id']}", headers=mine)
    assert revoked.status_code == 200
    assert await _is_valid(api, bobs.secret)


async def test_a_user_makes_no_key_for_others(memory: Remembrancer, ada: User, bob: User) -> None:
    """Nor one of another role; and services make none."""
    actor = Actor(Role.USER, user_id=ada.id)
    for key in (
        KeyCreate(name="x", role=Role.USER, user_id=bob.id),
        KeyCreate(name="x", role=Role.ADMIN),
        KeyCreate(name="x", role=Role.SERVICE),
    ):
        with pytest.raises(Forbidden):
            await memory.keys.create(actor, key)
    own = KeyCreate(name="x", role=Role.USER, user_id=ada.id)
    with pytest.raises(Forbidden):
        await memory.keys.create(as_actor(ada), own)
    with pytest.raises(Forbidden):
        await memory.keys.list(as_actor(ada))
    assert (await memory.keys.create(actor, own)).user_id == ada.id

"""API keys: rotated and revoked, by id and by name."""

from pathlib import Path

import pytest
from helpers import ADMIN, Api, audit_lines, rows

from remembrancer import Conflict, NotFound, Remembrancer, Role
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
        "/api/keys/a%2Fbot/rotate", params={"grace": 60}, headers=api.admin
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


async def test_without_a_grace_the_old_secret_ends_at_once(api: Api, memory: Remembrancer) -> None:
    """And no key is rotated twice into two."""
    old = await memory.keys.create(ADMIN, KeyCreate(name="bot", role=Role.SERVICE))
    assert await _is_valid(api, old.secret)
    new = await memory.keys.rotate(ADMIN, old.id)
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
    response = await api.client.post("/api/keys/bot/rotate?grace=2592001", headers=api.admin)
    assert response.status_code == 422


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

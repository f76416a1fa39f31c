"""API keys: /api/keys, for admins but for one's own."""

from uuid import UUID

from fastapi import APIRouter

from remembrancer.api.dependencies import App, Authenticated
from remembrancer.keys.schemas import Key, KeyCreate, KeyHolder, NewKey
from remembrancer.paging import Items

router = APIRouter(prefix="/api/keys", tags=["keys"])


@router.post("", status_code=201)
async def create_key(app: App, actor: Authenticated, key: KeyCreate) -> NewKey:
    """Make a key. Its secret is in this answer and nowhere else."""
    return await app.keys.create(actor, key)


@router.get("")
async def list_keys(app: App, actor: Authenticated) -> Items[Key]:
    """List all keys, without their secrets."""
    return await app.keys.list(actor)


@router.get("/own")
async def get_own_key(actor: Authenticated) -> KeyHolder:
    """Say who the key of this request stands for. For every role."""
    return KeyHolder(role=actor.role, user_id=actor.user_id)


@router.delete("/{key_id}")
async def revoke_key(app: App, actor: Authenticated, key_id: UUID) -> Key:
    """Make a key worthless from now on."""
    return await app.keys.revoke(actor, key_id)

"""API keys: /api/keys. For admins, except /own."""

from uuid import UUID

from remembrancer.api.dependencies import App, Caller
from remembrancer.api.endpoints import Router
from remembrancer.keys.schemas import Key, KeyCreate, KeyHolder, NewKey
from remembrancer.paging import Items

router = Router(prefix="/api/keys", tags=["keys"])


@router.post("", status_code=201)
async def create_key(app: App, actor: Caller, key: KeyCreate) -> NewKey:
    """Create a key. Only this response has its secret."""
    return await app.keys.create(actor, key)


@router.get("")
async def list_keys(app: App, actor: Caller) -> Items[Key]:
    """List all keys, without their secrets."""
    return await app.keys.list(actor)


@router.get("/own")
async def get_own_key(actor: Caller) -> KeyHolder:
    """Return the role and user of the key of this request. For all roles."""
    return KeyHolder(role=actor.role, user_id=actor.user_id)


@router.delete("/{key_id}")
async def revoke_key(app: App, actor: Caller, key_id: UUID) -> Key:
    """Revoke a key. It stops working at once."""
    return await app.keys.revoke(actor, key_id)

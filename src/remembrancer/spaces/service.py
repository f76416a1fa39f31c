"""Make spaces. Managing their members comes with the facts they share."""

from uuid import UUID

from sqlalchemy import insert, select

from remembrancer.access import Actor
from remembrancer.db.engine import Database
from remembrancer.db.tables import space_members, spaces
from remembrancer.errors import NotFound
from remembrancer.idempotency import once
from remembrancer.ids import new_uuid
from remembrancer.spaces.schemas import Space, SpaceCreate
from remembrancer.users import repository as users


class Spaces:
    """The spaces people share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, actor: Actor, space: SpaceCreate, *, idempotency_key: str | None = None
    ) -> Space:
        """Make a space with its members; ``NotFound`` if one of them is unknown."""
        async with (
            self._database.system_for(actor) as (connection, actor),
            once(connection, actor, "spaces.create", idempotency_key, space) as answer,
        ):
            if answer.earlier is not None:
                made = select(spaces).where(spaces.c.id == UUID(answer.earlier))
                return Space.model_validate((await connection.execute(made)).one())
            owner = actor.require_user()
            members = {owner, *space.member_ids}
            known = await users.hold(connection, members)
            if known.keys() != members:
                raise NotFound("no such user", field="member_ids")
            members = set(known.values())
            about = {"name": space.name, "description": space.description}
            values = {"id": new_uuid(), "created_by": owner, **about}
            row = (await connection.execute(insert(spaces).values(values).returning(spaces))).one()
            await connection.execute(
                insert(space_members),
                [
                    {"user_id": m, "space_id": row.id, "role": "owner" if m == owner else "member"}
                    for m in sorted(members)
                ],
            )
            answer.keep = str(row.id)
            return Space.model_validate(row)

"""Actors, and the rule of what they see. No other module decides it.

The rule is here twice: as SQL (:func:`visible`) and in Python (:func:`can_see`). A test compares
the two. Row-level security in the database is the second lock, for a query without the rule.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from remembrancer.errors import Forbidden, InvalidInput, NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.user_names import UNRESOLVED, AnyUser, UserName, parse_user
from remembrancer.validation import as_id

if TYPE_CHECKING:
    from remembrancer.agents.schemas import Agent
    from remembrancer.users.schemas import User


class Role(StrEnum):
    """The role of an actor.

    `user`: one person. `service`: the backend of an agent, which acts for any user. `admin`: a
    service that also manages keys, the policy and users.
    """

    ADMIN = "admin"
    SERVICE = "service"
    USER = "user"


STAFF: Final = (Role.ADMIN, Role.SERVICE)
"""Roles that may act for any user."""


class Scope(StrEnum):
    """Where an agent's memories of a user live.

    `agent`: only this agent sees them. `global`: all of this user's agents do. Other users never
    do.
    """

    GLOBAL = "global"
    AGENT = "agent"


class ScopeSource(StrEnum):
    """What decided the scope in effect."""

    ADMIN_OVERRIDE = "admin_override"
    USER_PREFERENCE = "user_preference"
    USER_TOGGLE = "user_toggle"
    AGENT_DEFAULT = "agent_default"


class Visibility(StrEnum):
    """Who sees a fact in a space: its author (`private`), or all members (`shared`)."""

    PRIVATE = "private"
    SHARED = "shared"


class SpaceRole(StrEnum):
    """The role of a member of a space.

    `member`: store and share facts, and read shared facts. `owner`: also rename the space, manage
    its members and delete it.
    """

    OWNER = "owner"
    MEMBER = "member"


REFUSED_KEY: Final = (
    "the API key is unknown, expired or revoked; `remembrancer keys create` makes another one"
)


@dataclass(slots=True)
class KeyCheck:
    """The check of an API key that was valid before: the actor's first statements make it.

    Unless the key is still valid, and all else here is still so, they raise ``Unauthenticated`` and
    nothing is read or written.
    """

    key_id: UUID
    role: Role
    user_id: UUID | None
    merged_ids: tuple[UUID, ...]
    """In order."""
    is_due: bool = True


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: in which role, for which user, through which agent and entry point.

    Raises ``NotFound`` for the owner of shared knowledge, which is nobody to act for, and
    ``InvalidInput`` for a user that is no id.
    """

    role: Role
    user_id: UUID | None = None
    agent_id: UUID | None = None
    entry_point: str = "python"
    key_id: UUID | None = None
    merged_ids: frozenset[UUID] = frozenset()
    """Former ids of the user, of people who were merged into them."""
    user_name: UserName | None = None
    """Name of a user who is not looked up yet; the database does so before it does anything."""
    key_check: KeyCheck | None = field(default=None, compare=False, repr=False)
    """Null if the key was checked before, and without one."""

    def __post_init__(self) -> None:
        """Check that the user can be one."""
        if not isinstance(self.user_id, UUID | None):
            raise InvalidInput("must be an id; use as_actor for a name", field="user_id")
        if self.user_id == SHARED_OWNER:
            raise NotFound("no such user", field="user_id")

    def acting_for(self, user_id: AnyUser | None, agent_id: UUID | None = None) -> "Actor":
        """Return this actor asking for a user, by id or name, through ``agent_id``.

        Raises ``NotFound`` when a user names somebody else: for them, nobody else exists.
        """
        user_id = None if user_id is None else as_user(user_id)
        if isinstance(user_id, UserName):
            own = [] if self.user_id is None or self.role is not Role.USER else [self.user_id]
            return replace(
                self,
                user_id=UNRESOLVED,
                user_name=user_id,
                agent_id=agent_id or self.agent_id,
                merged_ids=self.merged_ids.union(own),
            )
        if self.role is Role.USER:
            if user_id not in {None, self.user_id, *self.merged_ids}:
                raise NotFound("no such user", field="user_id")
            user_id = None
        return replace(
            self,
            user_id=user_id or self.user_id,
            agent_id=agent_id or self.agent_id,
            user_name=None if user_id else self.user_name,
        )

    def identified(self, user_id: UUID) -> "Actor":
        """Return this actor for the user whom its name belongs to.

        Raises ``NotFound`` for nobody, and where a user has named somebody else.
        """
        is_other = self.role is Role.USER and user_id not in self.merged_ids
        if is_other or user_id == UNRESOLVED:
            raise NotFound("no such user", field="user_id")
        return self.now(user_id)

    def without_user(self) -> "Actor":
        """Return this actor acting for nobody. Raises ``Forbidden`` for a user."""
        self.require(*STAFF)
        return replace(self, user_id=None, user_name=None)

    def now(self, user_id: UUID | None) -> "Actor":
        """Return this actor for the user that their user was merged into."""
        if user_id == self.user_id:
            return self
        return replace(self, user_id=user_id, user_name=None)

    def require(self, *roles: Role) -> None:
        """Raise ``Forbidden`` unless the actor has one of ``roles``."""
        if self.role not in roles:
            raise Forbidden(f"only the role {' or '.join(roles)} may do this")

    def require_user(self) -> UUID:
        """Return the actor's user; raise ``InvalidInput`` without one."""
        if self.user_id is None:
            raise InvalidInput("must name a user", field="user_id")
        return self.user_id


def as_user(value: AnyUser, *, field: str = "user_id") -> UUID | UserName:
    """Return a user's id or name; raise ``InvalidInput`` for what can be neither."""
    try:
        return parse_user(value)
    except ValueError as error:
        raise InvalidInput(str(error), field=field) from None


def as_actor(
    user: "User | AnyUser | None" = None,
    agent: "Agent | UUID | str | None" = None,
    *,
    entry_point: str = "python",
) -> Actor:
    """Return the actor of code in this process, for a user and an agent: ids or objects.

    The user may also be ``platform:id``, such as ``discord:1844``, or ``app:ada`` for an id of
    your own. The first operation of the actor looks it up, and raises ``NotFound`` for an
    unknown one. Raises ``InvalidInput`` for what can be neither id nor name.
    """
    user_id = cast("AnyUser | None", getattr(user, "id", user))
    agent_id = cast("UUID | str | None", getattr(agent, "id", agent))
    if agent_id is not None and not isinstance(agent_id, UUID):
        agent_id = as_id(agent_id, field="agent")
    actor = Actor(Role.SERVICE, agent_id=agent_id, entry_point=entry_point)
    return actor if user_id is None else actor.acting_for(as_user(user_id, field="user"))


@dataclass(frozen=True, slots=True)
class EffectiveScope:
    """The scope in effect for a user and an agent, and its source."""

    scope: Scope
    source: ScopeSource


@dataclass(frozen=True, slots=True)
class ScopeFacts:
    """The facts that decide a scope: see :func:`effective_scope`."""

    agent_default: str
    preference: bool | None
    toggle: bool | None
    policy_allows: bool


def effective_scope(
    *, policy_allows: bool, preference: bool | None, toggle: bool | None, agent_default: Scope
) -> EffectiveScope:
    """Return the scope of one user with one agent.

    Decided in this order: the admin's policy, the user's preference for this agent, the
    deprecated toggle for all agents (only if it is off), the agent's default.
    """
    if not policy_allows:
        return EffectiveScope(Scope.GLOBAL, ScopeSource.ADMIN_OVERRIDE)
    if preference is not None:
        scope = Scope.AGENT if preference else Scope.GLOBAL
        return EffectiveScope(scope, ScopeSource.USER_PREFERENCE)
    if toggle is False:
        return EffectiveScope(Scope.GLOBAL, ScopeSource.USER_TOGGLE)
    return EffectiveScope(agent_default, ScopeSource.AGENT_DEFAULT)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a memory, message or chunk is. ``agent_id`` null is for every agent."""

    owner_id: UUID
    agent_id: UUID | None = None
    space_id: UUID | None = None
    visibility: Visibility = Visibility.PRIVATE


@dataclass(frozen=True, slots=True)
class Viewer:
    """A reader: a user or None, an agent or None.

    ``scope`` is the effective scope of the two, null without an agent; ``spaces`` are the spaces
    of which the user is a member.
    """

    user_id: UUID | None
    agent_id: UUID | None = None
    scope: Scope | None = None
    spaces: frozenset[UUID] = frozenset()


def can_see(viewer: Viewer, item: Placement) -> bool:
    """Return whether ``viewer`` sees an item at a placement: the rule in Python."""
    usable = item.agent_id is None or item.agent_id == viewer.agent_id
    shown = usable or viewer.agent_id is None
    if item.visibility is Visibility.SHARED and item.space_id in viewer.spaces and shown:
        return True
    if item.owner_id != viewer.user_id:
        return item.owner_id == SHARED_OWNER and usable
    namespace = viewer.agent_id if viewer.scope is Scope.AGENT else None
    for_all = item.space_id is not None and item.agent_id is None
    return viewer.agent_id is None or for_all or item.agent_id == namespace


def is_told(item: Placement, space_id: UUID | None) -> bool:
    """Return whether an item is told in a conversation of a space, or of none.

    An item outside of spaces is told everywhere, another one in its space alone.
    """
    return item.space_id in {None, space_id}


def is_summary_told_to_group(
    visibility: Visibility, conversation_id: UUID | None, group_id: UUID | None
) -> bool:
    """Return whether a summary of a conversation is told in a group, which is a conversation too.

    A summary has words of all who were there, and the readers of another group may not have been.
    What a space shares is for all of its members.
    """
    return conversation_id == group_id or visibility is Visibility.SHARED


def may_change(actor: Actor, owner_id: UUID) -> bool:
    """Return whether ``actor`` may edit, share or delete memories of ``owner_id``.

    Users their own. Shared knowledge is for admins and services that act for no user: a request
    for one person does not change what everybody is told.
    """
    if owner_id == SHARED_OWNER:
        return actor.role is not Role.USER and actor.user_id is None
    return owner_id == actor.user_id


def may_take_part(actor: Actor, participants: frozenset[UUID]) -> bool:
    """Return whether ``actor`` may read and write a conversation of ``participants``.

    A service without a user is the agent itself, which takes part in all of its conversations.
    """
    if actor.user_id is None:
        return actor.role is not Role.USER and bool(participants)
    return actor.user_id in participants


def may_manage(role: SpaceRole | None) -> bool:
    """Return whether a role lets a member change a space and its members; null is no member."""
    return role is SpaceRole.OWNER


def scope_facts(user_id: str = ":user_id", agent_id: str = ":agent_id") -> str:
    """Return SQL for the :class:`ScopeFacts` of a user with a current agent: at most one row.

    The arguments are SQL expressions.
    """
    return f"""
    SELECT a.memory_scope AS agent_default,
           p.allow_agent_specific_memory AS preference,
           u.allow_agent_specific_memory AS toggle,
           (SELECT allow_agent_specific_memory FROM memory_policy) AS policy_allows
      FROM agents AS a
      LEFT JOIN users AS u ON u.id = {user_id}
      LEFT JOIN memory_preferences AS p ON p.user_id = {user_id} AND p.agent_id = a.id
     WHERE a.id = {agent_id} AND a.deleted_at IS NULL
"""  # noqa: S608 - of expressions of ours


def namespace_in_effect(user_id: str = ":user_id") -> str:
    """Return the SQL twin of :func:`effective_scope`: the agent id of the namespace, or null."""
    return f"""(
    SELECT CASE
               WHEN NOT s.policy_allows THEN NULL
               WHEN s.preference IS NOT NULL
                    THEN CASE WHEN s.preference THEN CAST(:agent_id AS uuid) END
               WHEN s.toggle IS FALSE THEN NULL
               WHEN s.agent_default = 'agent' THEN CAST(:agent_id AS uuid)
           END
      FROM ({scope_facts(user_id)}) AS s
)"""  # noqa: S608 - of expressions of ours


NAMESPACE: Final = namespace_in_effect()


SPACES: Final = "ARRAY(SELECT space_id FROM space_members WHERE user_id = :user_id)"
"""SQL for the spaces of which the user is a member."""


def visible(
    alias: str,
    *,
    namespace: str = NAMESPACE,
    spaces: str = SPACES,
    user_id: str = ":user_id",
    agent_id: str = ":agent_id",
) -> str:
    """Return the rule as an SQL condition on the table with this alias.

    Binds ``:user_id`` and ``:agent_id``, which may be null. A statement that has the condition
    several times may evaluate ``NAMESPACE`` and ``SPACES`` once, and name the results here; for
    another agent it names the agent too.
    """
    m = alias
    no_agent = f"CAST({agent_id} AS uuid) IS NULL"
    usable = f"({m}.agent_id IS NULL OR {m}.agent_id = {agent_id})"
    shown = f"({m}.agent_id IS NULL OR {m}.agent_id = {agent_id} OR {no_agent})"
    return f"""(
    ({m}.owner_id = '{SHARED_OWNER}' AND {usable})
    OR ({m}.owner_id = {user_id} AND (
        {no_agent}
        OR ({m}.space_id IS NOT NULL AND {m}.agent_id IS NULL)
        OR {m}.agent_id IS NOT DISTINCT FROM {namespace}))
    OR ({m}.visibility = 'shared' AND {shown} AND {m}.space_id = ANY ({spaces}))
)"""


def told_in(alias: str, space: str = "(SELECT space_id FROM talk)") -> str:
    """Return SQL for :func:`is_told`, on the table with this alias.

    ``space`` is an SQL expression for the conversation's space, by default that of the part
    ``talk``.
    """
    return f"({alias}.space_id IS NULL OR {alias}.space_id = {space})"


def viewer_binds(actor: Actor) -> dict[str, Any]:
    """Return the values that :func:`visible` and :data:`NAMESPACE` bind."""
    return {"user_id": actor.user_id, "agent_id": actor.agent_id}

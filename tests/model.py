"""A model of the store in plain Python: who has what, and who should see it.

It knows nothing of SQL. Its oracle for one item and one viewer is ``access.can_see``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from remembrancer import access
from remembrancer.access import Placement, Scope, Viewer, Visibility
from remembrancer.ids import SHARED_OWNER


@dataclass
class Item:
    """A memory or a message."""

    id: str
    owner: UUID
    agent: UUID | None
    space: UUID | None
    shared: bool
    texts: list[str]
    """Every wording it has had, the current one last. No text is a part of another."""
    active: bool = True
    conversation: UUID | None = None
    told: UUID | None = None
    """The agent that a memory was told to."""
    links: set[str] = field(default_factory=set)
    """Ids of the memories it is linked to."""

    @property
    def place(self) -> Placement:
        """Where it lies."""
        visibility = Visibility.SHARED if self.shared else Visibility.PRIVATE
        return Placement(self.owner, self.agent, self.space, visibility)


@dataclass
class Merge:
    """What a merge moved, to be moved back."""

    survivor: UUID
    merged: UUID
    items: list[str]
    preferences: dict[UUID, bool]
    kept: dict[UUID, bool]
    groups: set[UUID]
    """Spaces and conversations of the one who was merged."""
    joined: set[UUID]
    """Those of them that the survivor was not in."""
    forwarded: list[UUID]
    undone: bool = False


@dataclass
class World:
    """Everything there is."""

    now: dict[UUID, UUID] = field(default_factory=dict)
    """Who each user id is: itself, or the survivor of its merge."""
    agents: dict[UUID, Scope] = field(default_factory=dict)
    preferences: dict[tuple[UUID, UUID], bool] = field(default_factory=dict)
    toggles: dict[UUID, bool] = field(default_factory=dict)
    policy: bool = True
    members: dict[UUID, set[UUID]] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    takes_part: dict[UUID, set[UUID]] = field(default_factory=dict)
    conversations: dict[UUID, UUID | None] = field(default_factory=dict)
    """The agent of each conversation."""
    merges: dict[str, Merge] = field(default_factory=dict)

    @property
    def people(self) -> list[UUID]:
        """Users who are themselves, in the order they came."""
        return [user for user, now in self.now.items() if user == now]

    def scope(self, user: UUID, agent: UUID) -> Scope:
        """The scope in effect."""
        return access.effective_scope(
            policy_allows=self.policy,
            preference=self.preferences.get((user, agent)),
            toggle=self.toggles.get(user),
            agent_default=self.agents[agent],
        ).scope

    def viewer(self, user: UUID | None, agent: UUID | None) -> Viewer:
        """What decides what a user sees through an agent."""
        user = self.now[user] if user else None
        spaces = frozenset(s for s, who in self.members.items() if user in who)
        scope = self.scope(user, agent) if user and agent else None
        return Viewer(user, agent, scope, spaces)

    def seen(self, user: UUID | None, agent: UUID | None) -> dict[str, Item]:
        """The items that a user sees through an agent."""
        viewer = self.viewer(user, agent)
        return {
            id_: item
            for id_, item in self.items.items()
            if item.active and access.can_see(viewer, item.place)
        }

    def behind_row_security(self, user: UUID | None) -> dict[str, Item]:
        """The items that row-level security lets through, whatever a query asks for."""
        user = self.now[user] if user else None
        spaces = {s for s, who in self.members.items() if user in who}
        return {
            id_: item
            for id_, item in self.items.items()
            if item.active
            and (item.owner in {user, SHARED_OWNER} or (item.shared and item.space in spaces))
        }

    def merge(self, undo_id: str, survivor: UUID, merged: UUID) -> None:
        """Give everything of one person to another."""
        done = Merge(
            survivor,
            merged,
            items=[id_ for id_, item in self.items.items() if item.owner == merged],
            preferences={},
            kept={},
            groups={id_ for id_, who in self._groups().items() if merged in who},
            joined=set(),
            forwarded=[user for user, now in self.now.items() if now == merged],
        )
        for user, agent in [pair for pair in self.preferences if pair[0] == merged]:
            value = self.preferences.pop((user, agent))
            moves = (survivor, agent) not in self.preferences
            (done.preferences if moves else done.kept)[agent] = value
            self.preferences.setdefault((survivor, agent), value)
        for id_ in done.items:
            self.items[id_].owner = survivor
        for id_ in done.groups:
            group = self._groups()[id_]
            group.remove(merged)
            if survivor not in group:
                done.joined.add(id_)
                group.add(survivor)
        self.now.update(dict.fromkeys(done.forwarded, survivor))
        self.merges[undo_id] = done

    def unmerge(self, undo_id: str) -> None:
        """Give back what a merge moved; what came since stays."""
        done = self.merges[undo_id]
        done.undone = True
        survivor, merged = done.survivor, done.merged
        for id_ in done.items:
            self.items[id_].owner = merged
        for agent in done.preferences:
            if (survivor, agent) in self.preferences:
                self.preferences[merged, agent] = self.preferences.pop((survivor, agent))
        self.preferences |= {(merged, agent): value for agent, value in done.kept.items()}
        said = {(i.conversation, i.owner) for i in self.items.values()}
        for id_ in done.groups:
            group = self._groups()[id_]
            group.add(merged)
            if id_ in done.joined and (id_, survivor) not in said:
                group.discard(survivor)
        self.now.update(dict.fromkeys(done.forwarded, merged))

    def _groups(self) -> dict[UUID, set[UUID]]:
        """Who is in each space and conversation."""
        return {**self.members, **self.takes_part}

    def around(self, start: str, seen: Iterable[str], depth: int = 2) -> set[str]:
        """Ids of the memories within some steps of ``start``, through ``seen`` ones only."""
        seen = set(seen)
        reached, edge = {start}, {start}
        for _ in range(depth):
            edge = {
                id_
                for id_ in seen - reached
                if any(one in self.items[id_].links or id_ in self.items[one].links for one in edge)
            }
            reached |= edge
        return reached

"""Random lives of a store: after each step, what it shows is what the model says it may show."""

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar, TypeVar
from uuid import UUID

import pytest
from helpers import ADMIN, empty, exported, person, rows
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from model import Item, World
from pydantic import TypeAdapter

from remembrancer import (
    AgentCreate,
    AssociationCreate,
    Conflict,
    ContextQuery,
    ConversationCreate,
    Forbidden,
    MemberAdd,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    MoveRequest,
    NotFound,
    PolicyUpdate,
    PreferenceUpdate,
    RecallQuery,
    Remembrancer,
    SpaceCreate,
    ToggleUpdate,
    as_actor,
)
from remembrancer.access import Scope, Visibility
from remembrancer.ids import SHARED_OWNER
from remembrancer.integrity import check
from remembrancer.memories.schemas import Kind

T = TypeVar("T")
NUMBERS = st.integers(0, 997)
"""Picks one of however many there are; 0 is also nobody where nobody is possible."""
_JSON = TypeAdapter(Any)
_WITHHELD = "SELECT message_id, owner_id FROM withheld_messages"
_OWNERS = "SELECT user_id FROM space_members WHERE space_id = %s AND role = 'owner' ORDER BY 1"
_SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ka",
    "le",
    "mi",
    "no",
    "pu",
    "ra",
    "se",
    "ti",
    "vo",
    "zu",
]


def _name(number: int) -> str:
    """A word that stands for a number, and is a part of no other."""
    digits = []
    for _ in range(4):
        number, digit = divmod(number, len(_SYLLABLES))
        digits.append(_SYLLABLES[digit])
    return "".join(digits)


class Store(RuleBasedStateMachine):
    """Writes at random, and after every write reads at random, by every path."""

    memory: ClassVar[Remembrancer]
    runner: ClassVar[asyncio.Runner]
    url: ClassVar[str]
    row_security_alone: ClassVar[bool] = False
    steps: ClassVar[int] = 0
    shown: ClassVar[int] = 0
    """How many items were shown to somebody, so that silence does not pass for privacy."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.words = 0
        self.taken = 0

    def teardown(self) -> None:
        """A life leaves a whole store."""
        assert self.run(check(self.memory.database)) == []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def word(self) -> str:
        self.words += 1
        return f"{_name(self.words)} was said here"

    @staticmethod
    def pick(choices: Sequence[T], number: int) -> T:
        return choices[number % len(choices)]

    def maybe(self, choices: Sequence[T], number: int) -> T | None:
        return ([None, *choices])[number % (len(choices) + 1)]

    # People, agents, spaces ---------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        # Beside the loop, whose other tasks may be in the middle of a transaction.
        self.run(asyncio.to_thread(empty, self.url))
        for _ in range(2):
            self.new_user()
            self.new_agent(Scope.AGENT)
        self.new_agent(Scope.GLOBAL)
        self.new_space(0)
        for number, where in enumerate(["own", "own", "nobody", "private", "shared"]):
            for user in range(2):
                self.write(user, number, None, where, Kind.FACT, number)

    def new_user(self) -> None:
        user = self.run(person(self.memory, f"P{len(self.world.now)}")).id
        self.world.now[user] = user

    def new_agent(self, scope: Scope) -> None:
        made = AgentCreate(name=f"A{len(self.world.agents)}", memory_scope=scope)
        agent = self.run(self.memory.agents.create(as_actor(), made))
        self.world.agents[agent.id] = scope

    @rule()
    def another_user(self) -> None:
        if len(self.world.now) < 5:
            self.new_user()
        self.check()

    @rule(user=NUMBERS)
    def new_space(self, user: int) -> None:
        owner = self.pick(self.world.people, user)
        made = SpaceCreate(name=f"S{len(self.world.members)}")
        space = self.run(self.memory.spaces.create(as_actor(owner), made))
        self.world.members[space.id] = {owner}
        self.check()

    @rule(user=NUMBERS, agent=NUMBERS, scope=st.sampled_from(Scope))
    def say(self, user: int, agent: int, scope: Scope) -> None:
        """Somebody says something to an agent, in a conversation of their own."""
        who = self.pick(self.world.people, user)
        which = self.maybe(list(self.world.agents), agent)
        talks = [
            talk
            for talk, with_agent in self.world.conversations.items()
            if with_agent == which and who in self.world.takes_part[talk]
        ]
        if talks and scope is Scope.GLOBAL:
            talk = self.pick(talks, user)
        else:
            made = ConversationCreate(agent_id=which)
            talk = self.run(self.memory.conversations.open(as_actor(who), made)).id
            self.world.conversations[talk] = which
            self.world.takes_part[talk] = {who}
        text = self.word()
        appended = self.run(
            self.memory.conversations.append(as_actor(who), talk, [MessageCreate(content=text)])
        )
        in_effect = self.world.scope(who, which) if which else Scope.GLOBAL
        place = which if in_effect is Scope.AGENT else None
        id_ = str(appended.messages[0].id)
        self.world.items[id_] = Item(id_, who, place, None, False, [text], conversation=talk)
        self.check()

    @rule(user=NUMBERS, talk=NUMBERS)
    def answer(self, user: int, talk: int) -> None:
        """Somebody joins in where others talk already."""
        who = self.pick(self.world.people, user)
        if not self.world.conversations:
            return
        where = self.pick(list(self.world.conversations), talk)
        agent = self.world.conversations[where]
        text = self.word()
        said = [MessageCreate(content=text, user_id=who)]
        appended = self.run(self.memory.conversations.append(as_actor(), where, said))
        in_effect = self.world.scope(who, agent) if agent else Scope.GLOBAL
        place = agent if in_effect is Scope.AGENT else None
        id_ = str(appended.messages[0].id)
        self.world.items[id_] = Item(id_, who, place, None, False, [text], conversation=where)
        self.world.takes_part[where].add(who)
        self.check()

    # Memories -----------------------------------------------------------------------------

    @rule(
        user=NUMBERS,
        agent=NUMBERS,
        scope=st.none() | st.sampled_from(Scope),
        where=st.sampled_from(["own", "own", "own", "private", "shared", "nobody"]),
        kind=st.sampled_from(Kind),
        number=NUMBERS,
    )
    def remember(
        self, user: int, agent: int, scope: Scope | None, where: str, kind: Kind, number: int
    ) -> None:
        """Somebody has something remembered, for themselves, a space or everybody."""
        self.write(user, agent, scope, where, kind, number)
        self.check()

    def write(
        self, user: int, agent: int, scope: Scope | None, where: str, kind: Kind, number: int
    ) -> None:
        who = self.pick(self.world.people, user)
        which = self.maybe(list(self.world.agents), agent)
        mine = [space for space, members in self.world.members.items() if who in members]
        if (where in {"private", "shared"} and not mine) or (scope is Scope.AGENT and not which):
            return
        text = self.word()
        space = self.pick(mine, number) if where in {"private", "shared"} else None
        made = MemoryCreate(
            content=text,
            kind=kind,
            scope=scope,
            space_id=space,
            visibility=Visibility.SHARED if where == "shared" else Visibility.PRIVATE,
            shared=where == "nobody",
        )
        written = self.run(self.memory.memories.remember(as_actor(who, which), made))
        if where == "own":
            in_effect = self.world.scope(who, which) if which else Scope.GLOBAL
            chosen = Scope.GLOBAL if Scope.GLOBAL in {scope, in_effect} else Scope.AGENT
        else:
            chosen = scope or Scope.GLOBAL
        assert written.scope is chosen
        owner = SHARED_OWNER if where == "nobody" else who
        place = which if chosen is Scope.AGENT else None
        id_ = written.memory.id
        self.world.items[id_] = Item(
            id_, owner, place, space, where == "shared", [text], told=which
        )

    def memories(self, *, active: bool = True) -> list[Item]:
        return [
            item
            for item in self.world.items.values()
            if item.conversation is None and item.active is active
        ]

    @rule(which=NUMBERS, user=NUMBERS, what=st.sampled_from(["change", "forget", "restore"]))
    def change(self, which: int, user: int, what: str) -> None:
        """Somebody changes a memory, which works only on their own."""
        memories = self.memories(active=what != "restore")
        if not memories:
            return
        item = self.pick(memories, which)
        who = self.pick(self.world.people, user)
        actor, text = as_actor(who), self.word()
        allowed = item.owner == who
        if what != "forget":
            allowed = allowed and self.still_there(item)
        work: Coroutine[Any, Any, Any] = {
            "change": lambda: self.memory.memories.update(
                actor, item.id, MemoryUpdate(content=text)
            ),
            "forget": lambda: self.memory.memories.forget(actor, item.id),
            "restore": lambda: self.memory.memories.restore(actor, item.id),
        }[what]()
        if self.allowed(work, allowed):
            if what == "change":
                item.texts.append(text)
            else:
                item.active = what == "restore"
                self.withhold()
        self.check()

    def withhold(self) -> None:
        """Messages that say what a memory says leave recall with it: those of its owner alone."""
        withheld = {str(message): owner for message, owner in rows(_WITHHELD)}
        for item in self.world.items.values():
            if item.conversation is not None:
                item.active = item.id not in withheld
                assert item.active or item.owner == withheld[item.id]

    def allowed(self, work: Coroutine[Any, Any, Any], expected: bool) -> bool:
        """Do it; it is refused as not found unless it is expected to be allowed."""
        try:
            self.run(work)
        except (NotFound, Conflict, Forbidden):
            assert not expected
            return False
        assert expected
        return True

    def still_there(self, item: Item) -> bool:
        """Whether the author of a shared fact is a member of its space."""
        return not item.shared or item.owner in self.world.members[item.space]  # type: ignore[index]

    @rule(which=NUMBERS, onto=NUMBERS, user=NUMBERS)
    def associate(self, which: int, onto: int, user: int) -> None:
        """Somebody links their own memory to one they see."""
        if memories := self.memories():
            who = self.pick(self.world.people, user)
            source, other = self.pick(memories, which), self.pick(memories, onto)
            seen = self.seen(who, None)
            allowed = source.id in seen and source.owner == who
            allowed = allowed and self.still_there(source)
            if source.id != other.id:
                edge = AssociationCreate(target_id=other.id)
                work = self.memory.associations.add(as_actor(who), source.id, edge)
                if self.allowed(work, allowed and other.id in seen):
                    source.links.add(other.id)
        self.check()

    @rule(which=NUMBERS, user=NUMBERS, visibility=st.sampled_from(Visibility))
    def share(self, which: int, user: int, visibility: Visibility) -> None:
        """Somebody shares a fact with a space, or takes it back, if it is theirs."""
        facts = [item for item in self.memories() if item.space is not None]
        if facts:
            item, who = self.pick(facts, which), self.pick(self.world.people, user)
            shares = visibility is Visibility.SHARED
            allowed = item.owner == who and (
                not shares or item.shared or who in self.world.members[item.space]  # type: ignore[index]
            )
            work = self.memory.facts.set_visibility(as_actor(who), item.id, visibility)
            if self.allowed(work, allowed):
                item.shared = shares
        self.check()

    @rule(which=NUMBERS, user=NUMBERS, joins=st.booleans())
    def come_or_go(self, which: int, user: int, joins: bool) -> None:
        """Somebody is let into a space, or leaves one that others stay in."""
        space, who = self.pick(list(self.world.members), which), self.pick(self.world.people, user)
        members = self.world.members[space]
        owners = [u for (u,) in rows(_OWNERS, space)]
        if joins and who not in members and owners:
            added = MemberAdd(user_id=who)
            self.run(self.memory.spaces.add_member(as_actor(owners[0]), space, added))
            members.add(who)
        elif not joins and who in members and len(members) > 1:
            leaves = self.memory.spaces.leave(as_actor(who), space)
            if self.allowed(leaves, owners != [who]):
                members.remove(who)
        self.check()

    # Preferences --------------------------------------------------------------------------

    @rule(user=NUMBERS, agent=NUMBERS, allow=st.none() | st.booleans())
    def prefer(self, user: int, agent: int, allow: bool | None) -> None:
        """Somebody says which scope an agent is to have, or leaves it to its default."""
        who, which = self.pick(self.world.people, user), self.pick(list(self.world.agents), agent)
        preferences = self.memory.preferences
        if allow is not None:
            wanted = PreferenceUpdate(allow_agent_specific_memory=allow)
            self.run(preferences.set(as_actor(), who, which, wanted))
            self.world.preferences[who, which] = allow
        else:
            work = preferences.reset(as_actor(), who, which)
            if self.allowed(work, (who, which) in self.world.preferences):
                del self.world.preferences[who, which]
        self.check()

    @rule(user=NUMBERS, allow=st.booleans())
    def toggle(self, user: int, allow: bool) -> None:
        """Somebody uses the old toggle for all agents."""
        who = self.pick(self.world.people, user)
        wanted = ToggleUpdate(allow_agent_specific_memory=allow)
        self.run(self.memory.preferences.set_toggle(as_actor(), who, wanted))
        self.world.toggles[who] = allow
        self.check()

    @rule(allow=st.sampled_from([True, True, False]))
    def decree(self, allow: bool) -> None:
        """The admin's word for everybody."""
        wanted = PolicyUpdate(allow_agent_specific_memory_globally=allow)
        self.run(self.memory.policies.set(ADMIN, wanted))
        self.world.policy = allow
        self.check()

    @rule(user=NUMBERS, agent=NUMBERS, to=st.sampled_from(Scope))
    def move(self, user: int, agent: int, to: Scope) -> None:
        """Somebody moves an agent's memories to the other scope."""
        who, which = self.pick(self.world.people, user), self.pick(list(self.world.agents), agent)
        self.run(self.memory.moves.move(as_actor(), who, which, MoveRequest(to=to, dry_run=False)))
        for item in self.memories():
            if item.owner == who and item.space is None and (
                item.agent == which if to is Scope.GLOBAL
                else item.agent is None and item.told == which
            ):  # fmt: skip
                item.agent = None if to is Scope.GLOBAL else which
        self.check()

    # Who is who ---------------------------------------------------------------------------

    @rule(one=NUMBERS, other=NUMBERS)
    def merge(self, one: int, other: int) -> None:
        """Two people turn out to be one."""
        survivor, merged = self.pick(self.world.people, one), self.pick(self.world.people, other)
        if survivor != merged and len(self.world.people) > 2:
            done = self.run(self.memory.users.merge(as_actor(), survivor, merged))
            self.world.merge(str(done.undo_id), survivor, merged)
        self.check()

    @rule(which=NUMBERS)
    def unmerge(self, which: int) -> None:
        """They were two after all. The latest merge into somebody is undone first."""
        standing = [undo_id for undo_id, one in self.world.merges.items() if not one.undone]
        if standing:
            undo_id = self.pick(standing, which)
            survivor = self.world.now[self.world.merges[undo_id].survivor]
            undo = self.memory.users.undo_merge(as_actor(), survivor, UUID(undo_id))
            later = [
                one
                for one in standing[standing.index(undo_id) + 1 :]
                if self.world.now[self.world.merges[one].survivor] == survivor
            ]
            if later:
                with pytest.raises(Conflict):
                    self.run(undo)
            else:
                self.run(undo)
                self.world.unmerge(undo_id)
        self.check()

    # Reading ------------------------------------------------------------------------------

    def check(self) -> None:
        """Read by every path as somebody; who and how follows from the number of the step."""
        type(self).steps += 1
        self.taken += 1
        # From this life alone, so that a failure can be lived again.
        number = self.taken
        people: list[UUID | None] = [*self.world.now, None]
        agents: list[UUID | None] = [*self.world.agents, None]
        mixed = number * 2654435761 >> 7
        user, agent = self.pick(people, mixed), self.pick(agents, mixed >> 9)
        self.run(self.reads(user, agent, number))

    def seen(self, user: UUID | None, agent: UUID | None) -> dict[str, Item]:
        """What a user should see through an agent, by the guard that is on."""
        if self.row_security_alone:
            return self.world.behind_row_security(user)
        return self.world.seen(user, agent)

    async def reads(self, user: UUID | None, agent: UUID | None, number: int) -> None:
        actor = as_actor(user, agent)
        seen = self.seen(user, agent)
        memories = {id_ for id_, item in seen.items() if item.conversation is None}
        type(self).shown += len(seen)

        listed = await self.memory.memories.list(actor, limit=200)
        self.agree({m.id for m in listed.items}, memories, listed, seen)
        for mode in ("recent", "important", "typed"):
            wanted = RecallQuery(mode=mode, limit=100, kinds=list(Kind) if mode == "typed" else [])
            found = await self.memory.memories.recall(actor, wanted)
            self.agree({hit.id for hit in found.hits}, memories, found, seen)
        wanted = RecallQuery(query="What was said here?", limit=100)
        found = await self.memory.memories.recall(actor, wanted)
        self.agree({hit.id for hit in found.hits}, set(seen), found, seen)

        if number % 3 == 0:
            await self.told(user, agent, seen, memories)

        own = self.world.now[user] if user else None
        for offset in range(2):
            every = self.memories() + self.memories(active=False)
            if every:
                await self.one(actor, self.pick(every, number + offset).id, seen, memories)
        if user is not None and number % 5 == 0:
            await self.talks(user, number)
        if user is not None and number % 9 == 0 and own is not None:
            await self.export(user, own)

    async def one(self, actor: Any, id_: str, seen: dict[str, Item], memories: set[str]) -> None:
        """Read one memory, its history and what lies around it."""
        try:
            history = await self.memory.memories.get(actor, id_)
        except NotFound:
            assert id_ not in memories
            return
        self.agree({history.id}, {id_} & memories, history, seen)
        assert [v.content for v in history.versions] == self.world.items[id_].texts
        around = await self.memory.associations.neighbours(actor, id_, depth=2, limit=200)
        expected = self.world.around(id_, memories)
        self.agree({node.id for node in around.nodes}, expected, around, seen)

    async def told(
        self, user: UUID | None, agent: UUID | None, seen: dict[str, Item], memories: set[str]
    ) -> None:
        """Read what an agent is told: all that is seen fits into these budgets."""
        plenty = {"stable_tokens": 50_000, "dynamic_tokens": 50_000}
        wanted = ContextQuery(message="What was said here?", **plenty)
        context = await self.memory.conversations.context(as_actor(user, agent), wanted)
        # Nothing of spaces is told outside of their conversations.
        outside = {id_: item for id_, item in seen.items() if item.space is None}
        self.agree(set(context.stable.ids), memories & outside.keys(), context, outside)
        assert set(context.dynamic.ids) <= set(seen)
        talks = [
            talk
            for talk, with_agent in self.world.conversations.items()
            if user and with_agent == agent and self.world.now[user] in self.world.takes_part[talk]
        ]
        for talk in talks[:2]:
            # Frozen whenever it was first read; since then anything may have happened.
            wanted = ContextQuery(conversation_id=talk, message="What was said here?", **plenty)
            context = await self.memory.conversations.context(as_actor(user, agent), wanted)
            self.agree({*context.stable.ids} - memories, set(), context, seen)

    async def talks(self, user: UUID, number: int) -> None:
        """Read a conversation: for those who take part."""
        talks = list(self.world.conversations)
        if not talks:
            return
        talk = self.pick(talks, number)
        said = {i.id: i for i in self.world.items.values() if i.conversation == talk}
        try:
            page = await self.memory.conversations.messages(as_actor(user), talk, last=200)
        except NotFound:
            assert self.world.now[user] not in self.world.takes_part[talk]
            return
        assert self.world.now[user] in self.world.takes_part[talk]
        self.agree({str(m.id) for m in page.items}, set(said), page.items, said)

    async def export(self, user: UUID, own: UUID) -> None:
        """Read all that is one's own, and nothing else."""
        mine = {id_: item for id_, item in self.world.items.items() if item.owner == own}
        lines = await exported(self.memory, user)
        found = {line["id"] for line in lines if line["type"] in {"memory", "message"}}
        self.agree(found, set(mine), lines, mine)

    def agree(
        self, found: set[str], expected: set[str], answer: Any, seen: dict[str, Item]
    ) -> None:
        """Hold an answer against the model: these ids, and no words of anything else."""
        assert found == expected, (found - expected, expected - found)
        written = json.dumps(_JSON.dump_python(answer, mode="json"))
        for id_, item in self.world.items.items():
            if id_ not in seen:
                assert not any(text in written for text in item.texts), item

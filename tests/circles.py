"""Random lives of people who share spaces, group chats and agents.

After each step everybody's recall, context and extraction request are searched for words that they
must not hold. The rule is written here once more, on its own: it reads nothing of `access.py`.
"""

import asyncio
import json
import re
from collections.abc import Coroutine
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from helpers import ADMIN, empty, person
from helpers import Store as Database
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from run_state_machine import LIVES as LIVES_WITH_SHRINKING
from scripted import Json, Reply, Scripted, answer, minded

from remembrancer import (
    AgentCreate,
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
    Settings,
    SpaceCreate,
    as_actor,
)
from remembrancer.access import Scope, Visibility
from remembrancer.memories.schemas import Status
from remembrancer.settings import EmbeddingSettings

T = TypeVar("T")
NUMBERS = st.integers(0, 997)
QUESTION = "What is everybody fond of?"
TOKEN = re.compile(r"\b[bdfgklmnprstvz][aeiou](?:[bdfgklmnprstvz][aeiou]){3}\b")
LOVES = ["bees", "chess", "rain", "trains", "figs", "old maps", "sailing", "tin toys", "opera"]
LIVES = settings(LIVES_WITH_SHRINKING, phases=[Phase.generate])
PLENTY = {"stable_tokens": 20_000, "dynamic_tokens": 20_000}


def token(number: int) -> str:
    """A word that stands for a number."""
    syllables = []
    for _ in range(4):
        number, digit = divmod(number, 75)
        syllables.append("bdfgklmnprstvz"[digit // 5] + "aeiou"[digit % 5])
    return "".join(syllables)


@dataclass
class Thing:
    """A memory or a message, by the word in it."""

    word: str
    owner: UUID
    agent: UUID | None
    space: UUID | None
    shared: bool
    talk: UUID | None = None
    """The conversation of a message."""
    id: str = ""
    gone: bool = False
    """Forgotten, deleted or erased."""
    text: str = ""
    summaries: list["Thing"] = field(default_factory=list)
    """Where summaries lie that hold the word: in the scope of when they were made."""


@dataclass
class Talk:
    """A conversation."""

    agent: UUID
    space: UUID | None
    shared: bool
    people: set[UUID] = field(default_factory=set)
    said: int = 0


class Circle(RuleBasedStateMachine):
    """Up to four people, two agents, two spaces."""

    memory: ClassVar[Remembrancer]
    runner: ClassVar[asyncio.Runner]
    model: ClassVar[Scripted]
    url: ClassVar[str]
    steps: ClassVar[int] = 0
    shown: ClassVar[int] = 0
    """Words shown to somebody, so that silence does not pass for privacy."""
    asked: ClassVar[int] = 0
    """Extraction requests that were looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.people: list[UUID] = []
        self.agents: dict[UUID, Scope] = {}
        self.allow: dict[tuple[UUID, UUID], bool] = {}
        self.policy = True
        self.members: dict[UUID, set[UUID]] = {}
        self.owner: dict[UUID, UUID] = {}
        self.invited: set[tuple[UUID, UUID]] = set()
        self.left: set[tuple[UUID, UUID]] = set()
        self.talks: dict[UUID, Talk] = {}
        self.things: dict[str, Thing] = {}
        self.words = self.taken = 0
        self.reworded: dict[str, str] = {}
        """Words that memories had: a frozen block keeps them, as data of its version."""
        self.summed: list[str] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def tries(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Do what may be refused."""
        try:
            self.run(work)
        except (NotFound, Forbidden, Conflict):
            return False
        return True

    @staticmethod
    def pick(choices: Any, number: int) -> Any:
        choices = list(choices)
        return choices[number % len(choices)] if choices else None

    def new(self, **where: Any) -> Thing:
        """Something to say, that nobody has said."""
        self.words += 1
        word = token(self.words)
        text = f"{word.capitalize()} is fond of {LOVES[self.words % len(LOVES)]}."
        return Thing(word, **where, text=text)

    def keep(self, thing: Thing, id_: Any) -> None:
        thing.id = str(id_)
        self.things[thing.word] = thing

    def namespace(self, who: UUID, agent: UUID) -> UUID | None:
        """The agent, if what it hears from somebody is its own."""
        own = self.allow.get((who, agent), self.agents[agent] is Scope.AGENT)
        return agent if self.policy and own else None

    # The rule -----------------------------------------------------------------------------

    def sees(self, who: UUID, agent: UUID | None, thing: Thing) -> bool:
        """Whether somebody may see a thing through an agent, or with their own eyes."""
        if thing.gone:
            return False
        if any(self.sees(who, agent, summary) for summary in thing.summaries):
            return True
        if thing.shared and who in self.members.get(thing.space, ()):  # type: ignore[arg-type]
            return agent is None or thing.agent in {None, agent}
        if thing.owner != who:
            return False
        if agent is None or (thing.space is not None and thing.agent is None):
            return True
        return thing.agent == self.namespace(who, agent)

    def told(self, who: UUID, agent: UUID | None, space: UUID | None, thing: Thing) -> bool:
        """Whether an agent is told a thing, in a conversation of a space or of none."""
        # A summary lies in the space of what it summarises.
        return self.sees(who, agent, thing) and thing.space in {None, space}

    def may_learn_from(self, talk_id: UUID, thing: Thing) -> bool:
        """Whether a request to extract from a conversation may hold a thing."""
        talk = self.talks[talk_id]
        if thing.talk is not None:
            return thing.talk == talk_id and not thing.gone
        return (
            not thing.gone
            and thing.owner in talk.people
            and thing.space == talk.space
            and thing.agent in {None, talk.agent}
        )

    def holds(self, written: Any, allowed: Any, where: str, *, frozen: bool = False) -> None:
        """No word in a text stands for a thing that is not allowed in it."""
        text = written if isinstance(written, str) else json.dumps(written, default=str)
        words = set(TOKEN.findall(text.lower()))
        for word in {self.latest(word) for word in words} if frozen else words:
            assert word in self.things, f"{where}: {word} was taken back"
            assert allowed(self.things[word]), f"{where}: {self.things[word]}"
            type(self).shown += 1

    def latest(self, word: str) -> str:
        while word in self.reworded:
            word = self.reworded[word]
        return word

    # Beginning ----------------------------------------------------------------------------

    @initialize(count=st.integers(2, 4))
    def begin(self, count: int) -> None:
        self.run(asyncio.to_thread(empty, self.url))
        self.people = [self.run(person(self.memory, f"P{n}")).id for n in range(count)]
        for scope in (Scope.AGENT, Scope.AGENT, Scope.GLOBAL):
            made = AgentCreate(name=f"A{len(self.agents)}", memory_scope=scope)
            self.agents[self.run(self.memory.agents.create(as_actor(), made)).id] = scope
        for number in range(2):
            who = self.people[number]
            made = SpaceCreate(name=f"S{number}")
            space = self.run(self.memory.spaces.create(as_actor(who), made)).id
            self.members[space], self.owner[space] = {who}, who
        for number in range(4):
            self.open(number, number, number, shared=number % 2 == 0)
            self.remember(number, number, number, shared=number % 2 == 1)

    # What people do -----------------------------------------------------------------------

    @rule(user=NUMBERS, agent=NUMBERS, space=NUMBERS, shared=st.booleans())
    def open(self, user: int, agent: int, space: int, shared: bool) -> None:
        """Somebody opens a conversation, maybe in one of their spaces."""
        who, which = self.pick(self.people, user), self.pick(self.agents, agent)
        mine = [one for one, people in self.members.items() if who in people]
        where = self.pick([None, *mine], space)
        made = ConversationCreate(
            agent_id=which,
            space_id=where,
            visibility=Visibility.SHARED if shared and where else Visibility.PRIVATE,
        )
        opened = self.run(self.memory.conversations.open(as_actor(who), made))
        self.talks[opened.id] = Talk(which, where, shared and where is not None, {who})
        self.say(user, len(self.talks) - 1)

    @rule(user=NUMBERS, talk=NUMBERS)
    def say(self, user: int, talk: int) -> None:
        """Somebody says something in a conversation, which makes a group of it."""
        who, talk_id = self.pick(self.people, user), self.pick(self.talks, talk)
        if talk_id is None:
            return
        here = self.talks[talk_id]
        shared = here.shared and who in self.members[here.space]  # type: ignore[index]
        agent = None if shared else self.namespace(who, here.agent)
        thing = self.new(owner=who, agent=agent, space=here.space, shared=shared, talk=talk_id)
        said = [MessageCreate(content=thing.text, user_id=who)]
        appended = self.run(self.memory.conversations.append(as_actor(), talk_id, said))
        here.people.add(who)
        here.said += 1
        self.keep(thing, appended.messages[0].id)
        self.check()

    @rule(user=NUMBERS, agent=NUMBERS, space=NUMBERS, shared=st.booleans())
    def remember(self, user: int, agent: int, space: int, shared: bool) -> None:
        """Somebody has something remembered, through an agent."""
        who, which = self.pick(self.people, user), self.pick(self.agents, agent)
        mine = [one for one, people in self.members.items() if who in people]
        where = self.pick([None, None, *mine], space)
        shares = shared and where is not None
        thing = self.new(owner=who, agent=None, space=where, shared=shares)
        self.store(thing, which)
        self.check()

    @rule(which=NUMBERS)
    def remember_what_was_said(self, which: int) -> None:
        """An agent remembers, in the same words, what somebody said."""
        said = [one for one in self.things.values() if one.talk and not one.gone]
        message = self.pick(said, which)
        if message is None or message.shared or message.owner not in self.people:
            return
        thing = Thing(message.word, message.owner, None, message.space, shared=False)
        thing.text = message.text
        self.store(thing, self.talks[message.talk].agent, twin=message)
        self.check()

    def store(self, thing: Thing, agent: UUID, twin: Thing | None = None) -> None:
        made = MemoryCreate(
            content=thing.text,
            space_id=thing.space,
            visibility=Visibility.SHARED if thing.shared else Visibility.PRIVATE,
            conversation_id=twin.talk if twin else None,
        )
        try:
            written = self.run(self.memory.memories.remember(as_actor(thing.owner, agent), made))
        except (NotFound, Conflict):
            return
        thing.agent = agent if written.scope is Scope.AGENT else None
        if twin is None:
            self.keep(thing, written.memory.id)
        else:
            # Two things with one word: forgetting the memory takes the message along.
            self.run(self.memory.memories.forget(as_actor(thing.owner), written.memory.id))
            twin.gone = True

    @rule(which=NUMBERS, again=st.booleans())
    def forget(self, which: int, again: bool) -> None:
        """Somebody has a memory of theirs forgotten, or restored."""
        memories = [one for one in self.things.values() if one.talk is None and one.gone is again]
        thing = self.pick(memories, which)
        if thing is not None and thing.owner in self.people:
            service = self.memory.memories
            change = service.restore if again else service.forget
            if self.tries(change(as_actor(thing.owner), thing.id)):
                thing.gone = not again
        self.check()

    @rule(which=NUMBERS)
    def edit(self, which: int) -> None:
        """Somebody rewords a memory or a message of theirs: the old word is nowhere."""
        old = self.pick([one for one in self.things.values() if not one.gone], which)
        if old is not None and old.owner in self.people:
            new = self.new(
                owner=old.owner, agent=old.agent, space=old.space, shared=old.shared, talk=old.talk
            )
            actor = as_actor(old.owner)
            if old.talk is None:
                change = MemoryUpdate(content=new.text)
                done = self.tries(self.memory.memories.update(actor, old.id, change))
            else:
                talks = self.memory.conversations
                done = self.tries(
                    talks.edit_message(actor, old.talk, UUID(old.id), content=new.text)
                )
            if done:
                del self.things[old.word]
                if old.talk is None:
                    self.reworded[old.word] = new.word
                self.keep(new, old.id)
        self.check()

    @rule(which=NUMBERS)
    def delete(self, which: int) -> None:
        """Somebody deletes a message of theirs."""
        said = [one for one in self.things.values() if one.talk and not one.gone]
        thing = self.pick(said, which)
        if thing is not None and thing.owner in self.people:
            work = self.memory.conversations.delete_message(
                as_actor(thing.owner), thing.talk, UUID(thing.id), dry_run=False
            )
            if self.tries(work):
                thing.gone = True
        self.check()

    @rule(user=NUMBERS, space=NUMBERS, other=NUMBERS, what=st.sampled_from("ioaldr"))
    def come_or_go(self, user: int, space: int, other: int, what: str) -> None:
        """Somebody is invited, accepts, declines, leaves, or is put out."""
        where, who = self.pick(self.members, space), self.pick(self.people, user)
        spaces, owner = self.memory.spaces, self.owner[where]
        pair = (where, who)
        if what in "io" and owner in self.people:
            made = MemberAdd(user_id=who)
            if self.tries(spaces.invite(as_actor(owner), where, made)) and pair not in self.left:
                self.invited.add(pair)
        elif what == "a" and self.tries(spaces.accept(as_actor(who), where)):
            assert pair in self.invited | self.left
            self.members[where].add(who)
        elif what == "d":
            self.tries(spaces.decline(as_actor(who), where))
        elif what == "l" and who != owner and self.tries(spaces.leave(as_actor(who), where)):
            self.members[where].discard(who)
            self.left.add(pair)
        elif what == "r" and who != owner and owner in self.people:
            self.tries(spaces.remove_member(as_actor(owner), where, who))
            self.members[where].discard(who)
        self.check()

    @rule(user=NUMBERS, agent=NUMBERS, allow=st.booleans())
    def prefer(self, user: int, agent: int, allow: bool) -> None:
        """Somebody chooses the scope of an agent."""
        who, which = self.pick(self.people, user), self.pick(self.agents, agent)
        wanted = PreferenceUpdate(allow_agent_specific_memory=allow)
        self.run(self.memory.preferences.set(as_actor(), who, which, wanted))
        self.allow[who, which] = allow
        self.check()

    @rule(allow=st.sampled_from([True, True, False]))
    def decree(self, allow: bool) -> None:
        """The admin's word for everybody."""
        wanted = PolicyUpdate(allow_agent_specific_memory_globally=allow)
        self.run(self.memory.policies.set(ADMIN, wanted))
        self.policy = allow
        self.check()

    @rule(user=NUMBERS, agent=NUMBERS, to=st.sampled_from(Scope))
    def move(self, user: int, agent: int, to: Scope) -> None:
        """Somebody moves an agent's memories to the other scope."""
        who, which = self.pick(self.people, user), self.pick(self.agents, agent)
        self.run(self.memory.moves.move(as_actor(), who, which, MoveRequest(to=to, dry_run=False)))
        page = self.run(self.memory.memories.list(as_actor(who), limit=200))
        agent_of = {memory.id: memory.agent_id for memory in page.items}
        for thing in self.things.values():
            thing.agent = agent_of.get(thing.id, thing.agent)
        self.check()

    @rule(user=NUMBERS)
    def erase(self, user: int) -> None:
        """Somebody leaves for good, and somebody else comes."""
        who = self.pick(self.people, user)
        if self.words % 5 == 0 and who not in self.owner.values():
            self.run(self.memory.users.erase(as_actor(), who, dry_run=False))
            self.people.remove(who)
            for thing in self.things.values():
                thing.gone = thing.gone or thing.owner == who
            for people in [*self.members.values(), *(talk.people for talk in self.talks.values())]:
                people.discard(who)
            self.people.append(self.run(person(self.memory, f"N{self.words}")).id)
        self.check()

    # Reading ------------------------------------------------------------------------------

    def check(self) -> None:
        """Everybody recalls, is told, and one conversation is learnt from."""
        type(self).steps += 1
        self.taken += 1
        agents = [*self.agents, None]
        for number, who in enumerate(self.people, self.taken):
            self.run(self.looks(who, self.pick(agents, number * 7)))
        talk = self.pick(self.talks, self.taken)
        if talk is not None and self.taken % 4 == 0:
            self.learn(talk)

    async def looks(self, who: UUID, agent: UUID | None) -> None:
        actor = as_actor(who, agent)
        sources = ["memory", "message", "chunk"]
        found = await self.memory.memories.recall(
            actor, RecallQuery(query=QUESTION, limit=100, sources=sources)
        )
        recalled = [hit.content for hit in found.hits]
        self.holds(recalled, lambda thing: self.sees(who, agent, thing), f"recall of {who}")
        listed = await self.memory.memories.list(actor, limit=200)
        active = [one.content for one in listed.items if one.status is Status.ACTIVE]
        self.holds(active, lambda thing: self.sees(who, agent, thing), f"list of {who}")
        wanted = ContextQuery(message=QUESTION, **PLENTY)
        context = await self.memory.conversations.context(actor, wanted)
        written = context.stable.text + context.dynamic.text
        self.holds(written, lambda thing: self.told(who, agent, None, thing), f"context of {who}")
        for talk_id, talk in self.talks.items():
            if who in talk.people:
                await self.listens(who, talk_id, talk)

    async def listens(self, who: UUID, talk_id: UUID, talk: Talk) -> None:
        wanted = ContextQuery(conversation_id=talk_id, message=QUESTION, window=0, **PLENTY)
        context = await self.memory.conversations.context(as_actor(who), wanted)

        def told(thing: Thing) -> bool:
            return self.told(who, talk.agent, talk.space, thing)

        def told_to_all(thing: Thing) -> bool:
            return thing.shared and thing.space == talk.space and told(thing)

        group = len(talk.people) > 1
        allowed = told_to_all if group else told
        where = f"stable of {who} in {talk}"
        self.holds(context.stable.text, allowed, where, frozen=True)
        self.holds(context.dynamic.text, told, f"dynamic of {who} in {talk}")

    def learn(self, talk_id: UUID) -> None:
        """Talk goes on, so that what was said leaves the window, and is learnt from."""
        talk = self.talks[talk_id]
        who = self.pick(talk.people, 0)
        if who is None:
            return
        on = [MessageCreate(content="ok", user_id=who)] * 20
        self.run(self.memory.conversations.append(as_actor(), talk_id, on))
        before = len(self.model.requests)
        self.model.said = self.script(talk)
        self.run(self.memory.conversations.summarize(as_actor(), talk_id))
        self.keep_summaries(talk)
        for asked in self.model.asked[before:]:
            type(self).asked += 1
            self.holds(asked, lambda thing: self.may_learn_from(talk_id, thing), f"asked of {talk}")

    def keep_summaries(self, talk: Talk) -> None:
        for word in self.summed:
            said = self.things[word]
            agent = None if talk.shared else self.namespace(said.owner, talk.agent)
            said.summaries.append(Thing(word, said.owner, agent, said.space, talk.shared))

    def script(self, talk: Talk) -> Any:
        """A model that makes a summary of the words of a talk with one person."""
        self.summed = []

        def says(body: Json) -> Reply:
            asked = "\n".join(m["content"] for m in body["messages"] if m["role"] == "user")
            if len(talk.people) > 1:
                return answer("They talked.")
            words = dict.fromkeys(TOKEN.findall(asked.lower()))
            self.summed = [w for w in words if w in self.things and self.things[w].talk]
            return answer(" ".join(self.summed))

        return says


def run_circles(url: str, steps: int, *, lives: settings = LIVES) -> None:
    """Take ``steps`` steps, or a few more, on the store at ``url``."""
    Circle.steps = Circle.shown = Circle.asked = 0
    Circle.url = Database.url = url
    chosen = Settings(embedding=EmbeddingSettings(threads=1))
    with asyncio.Runner() as runner, closing(Scripted()) as model:
        Circle.runner, Circle.model = runner, model
        stack = AsyncExitStack()
        store = Remembrancer.open(database_url=url, settings=chosen)
        plain = runner.run(stack.enter_async_context(store))
        minds = minded(plain, model.base_url, retries=0)
        Circle.memory = runner.run(stack.enter_async_context(minds))
        try:
            while Circle.steps < steps:
                run_state_machine_as_test(seed(Circle.steps)(Circle), settings=lives)
        finally:
            runner.run(stack.aclose())
    assert Circle.shown > Circle.steps, (Circle.shown, Circle.steps)
    assert Circle.asked > Circle.steps // 20, (Circle.asked, Circle.steps)

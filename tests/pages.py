"""A browser without a screen: signs in, loads pages, sends forms. And people to look at."""

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from uuid import UUID

import httpx2
from helpers import ADMIN

from remembrancer import (
    Agent,
    AgentCreate,
    ConversationCreate,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    PlaceCreate,
    Remembrancer,
    ResolveUser,
    Role,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.access import Scope, Visibility
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.schemas import AssociationCreate, MemoryFilter, Relation
from remembrancer.web.connections import PROGRAMS


@dataclass
class Browser:
    """A browser as a person without scripts has it."""

    client: httpx2.AsyncClient
    page: str = ""
    sent: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, status: int = 200, **headers: str) -> str:
        """Load a page and keep it."""
        response = await self.client.get(path, headers=headers)
        assert response.status_code == status, (path, response.status_code, response.text[:2000])
        self.page = response.text
        return unescape(self.page)

    @property
    def token(self) -> str:
        """The token that the forms of the page carry."""
        found = re.search(r'name="token" value="([^"]+)"', self.page)
        assert found
        return found[1]

    async def post(self, path: str, status: int = 200, **fields: Any) -> str:
        """Send a form, follow where it leads, and return the page."""
        response = await self.client.post(
            path, data={"token": self.token, **fields}, follow_redirects=True
        )
        assert response.status_code == status, (path, response.status_code, response.text[:2000])
        self.page = response.text if "token" in response.text else self.page
        return unescape(response.text)

    async def part(self, path: str, target: str = "", **fields: Any) -> httpx2.Response:
        """Send a form as the script does, which gets a part of a page."""
        headers = {"HX-Request": "true", "HX-Target": target}
        return await self.client.post(path, data={"token": self.token, **fields}, headers=headers)


async def secret_of(memory: Remembrancer, user: User | None = None) -> str:
    """A key of a user, or of an admin."""
    role = Role.USER if user else Role.ADMIN
    key = KeyCreate(name=f"{role} key", role=role, user_id=user.id if user else None)
    return (await memory.keys.create(ADMIN, key)).secret


@dataclass(frozen=True)
class World:
    """People with something to look at."""

    memory: Remembrancer
    ada: User
    bob: User
    agents: dict[str, Agent]
    tea: str
    """A memory of Ada's with two versions, and associations around it."""
    fact: str
    """A memory of Ada's in the space."""
    space: UUID
    talk: UUID
    """A conversation of Ada's with summaries."""
    bobs: str
    """A memory of Bob's."""
    bobs_talk: UUID
    place: str
    """The memory that a place of Ada's is."""
    waiting: list[str]
    """Memories of Ada's that wait for review; the last lies in the space."""

    @property
    def pages_of_ada(self) -> list[str]:
        """All pages about Ada."""
        base, pantry = f"/people/{self.ada.id}", self.agents["Pantry"].id
        return [
            base,
            f"{base}?q=What+does+Ada+drink%3F",
            f"{base}?q=xyzzy",
            f"{base}/memories",
            f"{base}/memories?status=forgotten",
            f"{base}/memories?text=nothing-like-it",
            f"{base}/memories/forget?kind=fact",
            f"{base}/filters",
            f"{base}/memories/new",
            f"{base}/memories/{self.tea}",
            f"{base}/memories/{self.tea}/edit",
            f"{base}/memories/{self.tea}/erase",
            f"{base}/memories/{self.fact}",
            f"{base}/memories/{self.place}",
            f"{base}/memories/{self.waiting[0]}",
            f"{base}/memories?status=pending",
            f"{base}/review",
            f"{base}/review?chosen=all",
            f"{base}/review/edit?memory_id={self.waiting[0]}&memory_id={self.waiting[-1]}",
            f"{base}/places",
            f"{base}/places/new",
            f"{base}/places/{self.place}/edit",
            f"{base}/document",
            f"{base}/spaces",
            f"{base}/spaces/{self.space}",
            f"{base}/agents",
            f"{base}/agents/compare",
            f"{base}/agents/compare?left={pantry}&right={self.agents['Quiet Hour'].id}&every=1",
            f"{base}/agents/{pantry}/scope?to=global",
            f"{base}/agents/{pantry}/scope?to=agent",
            f"{base}/agents/{pantry}/move",
            f"{base}/conversations",
            f"{base}/conversations/{self.talk}",
            f"{base}/timeline",
            f"{base}/timeline?as_of=2020-02-29",
            f"{base}/graph",
            f"{base}/graph?text=teapot",
            f"{base}/graph?text=nothing-like-it",
            f"{base}/graph/{self.tea}",
            f"{base}/graph/{self.fact}",
            f"{base}/playground",
            f"{base}/playground?query=What+does+Ada+drink%3F&agent={pantry}&source=memory"
            "&source=message&source=chunk",
            f"{base}/playground?query=",
            f"{base}/profile",
            f"{base}/keys",
            f"{base}/start",
            f"{base}/start/history",
            *(f"{base}/start/connect?program={program}" for program in PROGRAMS),
            f"{base}/erase",
        ]

    @property
    def pages_of_admins(self) -> list[str]:
        """All pages for admins alone."""
        return [
            "/admin",
            "/start",
            "/admin/usage",
            "/admin/retention",
            f"/admin/usage?days=7&agent={self.agents['Pantry'].id}",
            "/admin/people",
            "/admin/people?name=Ada",
            "/admin/people?name=Zoltan",
            "/admin/agents",
            "/admin/agents/new",
            f"/admin/agents/{self.agents['Pantry'].id}",
            "/admin/shared",
            "/admin/shared?status=forgotten",
            "/admin/shared?text=tea",
            "/admin/shared/new",
            "/admin/keys",
            "/admin/workspaces",
            "/admin/audit",
            "/admin/audit?action=nothing",
            "/admin/audit?person=Ada",
            "/admin/audit?lines=each&action=memory",
            "/admin/jobs",
            "/admin/jobs?status=failed",
            f"/people/{self.ada.id}/merge?other={self.bob.id}",
        ]


CORPUS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</title></textarea></style></script><script>alert(1)</script>",
    '<a href="javascript:alert(1)">click</a>',
    "javascript:alert(1)",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '" autofocus onfocus="alert(1)',
    "' hx-get='/static/app.js' hx-trigger='load' x='",
    "<div hx-get=/admin hx-trigger=load hx-on:htmx:load=alert(1)>",
    '<meta http-equiv=refresh content="0;url=//evil.example">',
    "<base href=//evil.example/><form action=//evil.example><button>",
    "<math><mtext><table><mglyph><style><!--</style><img src=x onerror=alert(1)>",
    "--><!--<img src=x onerror=alert(1)>-->",
    "<style>*{background:url(//evil.example)}</style>",
    "{{ 1009*9973 }}${1009*9973}#{1009*9973}<%= 1009*9973 %>{% raw %}",
    "&lt;script&gt;alert(1)&lt;/script&gt;&#60;b&#62;",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
)
"""What has run in other people's pages."""


async def vandalised(memory: Remembrancer) -> World:
    """A world with hostile text everywhere, and each of the corpus as a name of everything."""
    world = await peopled(memory, CORPUS[0] + CORPUS[1] + CORPUS[2])
    ada = as_actor(world.ada)
    for text in CORPUS:
        await memory.agents.create(
            as_actor(), AgentCreate(name=text, description=text, system_prompt=text)
        )
        space = await memory.spaces.create(ada, SpaceCreate(name=text, description=text))
        await memory.places.add(ada, PlaceCreate(place_id=text, place_name=text, notes=text))
        statements = [
            MemoryCreate(content=text, subject=text, allow_similar=True),
            MemoryCreate(content=f"In a space: {text}", subject=text, space_id=space.id),
            MemoryCreate(content=f"Perhaps: {text}", subject=text, pending=True),
        ]
        await memory.memories.remember_many(
            ada, [one.model_copy(update={"allow_similar": True}) for one in statements]
        )
        await memory.saved_filters.save(ada, text[:60], MemoryFilter(text=text[:200]))
        talk = await memory.conversations.open(ada, ConversationCreate(title=text))
        await memory.conversations.append(
            ada, talk.id, [MessageCreate(content=text, role="user", sender_name=text[:80])]
        )
        platform = "".join(text.split())
        await memory.users.resolve(
            as_actor(), ResolveUser(platform=platform, platform_user_id=text, display_name=text)
        )
    return world


async def peopled(memory: Remembrancer, words: str = "") -> World:
    """A world; ``words`` are in every text of it."""
    staff = as_actor()
    ada = await memory.users.resolve(
        staff,
        ResolveUser(
            platform="discord",
            platform_user_id=f"184405{words}"[:255],
            display_name=f"Ada {words}"[:200].strip(),
            time_zone="Europe/Riga",
        ),
    )
    bob = await memory.users.resolve(
        staff, ResolveUser(platform="telegram", platform_user_id="7", display_name="Bob")
    )
    agents = {
        name: await memory.agents.create(
            staff,
            AgentCreate(
                name=f"{name} {words}"[:200].strip(),
                description=f"{about} {words}",
                system_prompt=words,
                llm_provider=words[:200].strip() or None,
                llm_model=words[:200].strip() or None,
                memory_scope=scope,
            ),
        )
        for name, about, scope in [
            ("Pantry", "Helps with cooking and shopping.", Scope.GLOBAL),
            ("Quiet Hour", "A journal that keeps what it hears to itself.", Scope.AGENT),
        ]
    }
    space = await memory.spaces.create(
        as_actor(ada),
        SpaceCreate(name=f"Gran {words}"[:200].strip(), description=words, member_ids=[bob.id]),
    )
    talk, said = await _talk(memory, ada, agents["Pantry"], words)
    tea = await _memories(memory, ada, agents, words, talk, said)
    fact = await memory.memories.remember(
        as_actor(ada),
        MemoryCreate(
            content=f"Gran was born in 1931. {words}", space_id=space.id,
            visibility=Visibility.SHARED,
        ),
    )  # fmt: skip
    gone = await memory.memories.remember(
        as_actor(ada), MemoryCreate(content=f"Ada wants a parrot. {words}", allow_similar=True)
    )
    await memory.memories.forget(as_actor(ada), gone.memory.id)
    bobs = await memory.remember("Bob is afraid of geese.", user=bob)
    bobs_talk, _ = await _talk(memory, bob, agents["Pantry"], "", 2)
    place = await memory.places.add(
        as_actor(ada, agents["Pantry"]),
        PlaceCreate(
            place_id=f"home {words}"[:255].strip(),
            place_name=f"Home {words}"[:200].strip(),
            notes=f"12 Harbour Street, Riga. {words}",
            conversation_id=talk,
            message_id=said[3],
        ),
    )
    waiting = [
        await memory.memories.remember(
            as_actor(ada, agents["Pantry"]),
            MemoryCreate(
                content=f"{text} {words}",
                pending=True,
                space_id=space.id if text.startswith("Gran") else None,
                conversation_id=talk,
                message_id=said[number],
                allow_similar=True,
            ),
            source="extraction",
        )
        for number, text in enumerate(
            [
                "Ada is allergic to peanuts.",
                "Ada sails on Sundays with her brother.",
                "Ada moves to Tallinn in May.",
                "Gran made the best rye bread.",
            ]
        )
    ]
    if words:
        found = MemoryFilter(text=words[:200])
        await memory.saved_filters.save(as_actor(ada), words[:60], found)
    return World(
        memory, ada, bob, agents, tea, fact.memory.id, space.id, talk, bobs.memory.id, bobs_talk,
        place.place.memory_id, [one.memory.id for one in waiting],
    )  # fmt: skip


async def _talk(
    memory: Remembrancer, user: User, agent: Agent, words: str, count: int = 24
) -> tuple[UUID, list[UUID]]:
    actor = as_actor(user, agent)
    opened = await memory.conversations.open(
        actor, ConversationCreate(agent_id=agent.id, title=f"Dinner for six {words}"[:200])
    )
    said = await memory.conversations.append(
        actor,
        opened.id,
        [
            MessageCreate(
                content=f"Message {n}: what shall we cook on day {n}? {words}",
                role="user" if n % 2 else "assistant",
            )
            for n in range(1, count + 1)
        ],
    )
    await memory.conversations.summarize(actor, opened.id)
    return opened.id, [one.id for one in said.messages]


async def _memories(
    memory: Remembrancer,
    ada: User,
    agents: dict[str, Agent],
    words: str,
    talk: UUID,
    said: list[UUID],
) -> str:
    """Store memories of Ada's; return the id of the one about tea."""
    actor = as_actor(ada, agents["Pantry"])
    tea = await memory.memories.remember(
        actor,
        MemoryCreate(
            content=f"Ada prefers coffee over tea. {words}",
            kind="preference",
            subject=f"Ada's drink {words}"[:200].strip(),
            conversation_id=talk,
            message_id=said[20],
            importance=0.8,
        ),
    )
    for text, relation in [
        ("The doctor told Ada to drink less coffee.", Relation.CAUSED_BY),
        ("Ada bought a teapot in Riga.", Relation.RESULT_OF),
        ("Ada drinks three espressos before noon.", Relation.CONTRADICTS),
        ("Breakfast at Ada's is at seven.", Relation.PART_OF),
    ]:
        link = AssociationCreate(target_id=tea.memory.id, relation=relation, weight=0.7)
        await memory.memories.remember(
            actor,
            MemoryCreate(content=f"{text} {words}", associations=[link], allow_similar=True),
        )
    await memory.memories.update(
        actor, tea.memory.id, MemoryUpdate(content=f"Ada prefers green tea over coffee. {words}")
    )
    # The same in other letters: a mention with a wording of its own.
    await memory.memories.remember(
        actor, MemoryCreate(content=f"ADA PREFERS GREEN TEA OVER COFFEE. {words}")
    )
    await memory.memories.remember(
        as_actor(ada, agents["Quiet Hour"]),
        MemoryCreate(content=f"Ada was offered a job in the harbour. {words}", kind="goal"),
    )
    return tea.memory.id


async def visitor(app: Any) -> httpx2.AsyncClient:
    """A browser of nobody in particular."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx2.AsyncClient(
        transport=transport, base_url="http://localhost", headers={"Accept": "text/html"}
    )


async def signed_in(app: Any, secret: str) -> Browser:
    """A browser of who has a key."""
    browser = Browser(await visitor(app))
    await browser.get("/signin")
    response = await browser.client.post("/signin", data={"key": secret})
    assert response.status_code == 303, response.text
    return browser


@asynccontextmanager
async def browsing(app: Any, memory: Remembrancer, user: User | None, page: str) -> Any:
    """A browser of a user, or of an admin, on a page."""
    browser = await signed_in(app, await secret_of(memory, user))
    await browser.get(page)
    yield browser
    await browser.client.aclose()


def base(world: World) -> str:
    """Where the pages about Ada begin."""
    return f"/people/{world.ada.id}"

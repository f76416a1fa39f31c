"""The library and its client have the same nouns, verbs and arguments (decision 26)."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from remembrancer import Remembrancer
from remembrancer.client import AsyncClient
from remembrancer.client.operations import Group, _signature

ONLY_IN_THE_LIBRARY = {
    "records": "programs keep records by address, inside their own process",
    "backend": "what services are built from",
    "database": "the store itself",
    "embedder": "the store itself",
    "reads": "written in the background",
    "guard": "screens texts before they are stored",
    "expiry": "lets go of memories that have expired",
    "access_counts": "written in the background",
    "language_model": "makes summaries",
    "settings": "read once, when the store is opened",
    "summaries": "the worker's side of conversations.summarize",
    "lookup": "what the pages show; programs recall and list",
    "agent_memory": "what the pages show of each agent; programs list with an agent",
    "restorations": "importers bring an export back",
    "names": "the pages name people and choose them; programs have ids",
    "saved_filters": "the list of memories in the pages has them; programs pass filters",
    "sign_ins": "sessions of the pages",
    "tasks": "what the worker of this process can run",
    "uploads": "files given to the pages; programs import with the command line",
    "worker": "runs jobs",
    "workspace": "the client's key says which one",
    "is_default": "the client's key says which one",
    "is_usable": "a server asks before it trusts a key",
    "host": "opens the other workspaces of this process",
    "turns": "runs jobs of all workspaces",
    "working": "runs jobs of all workspaces",
    "workspaces.migrate": "the command line shows progress",
    "workspaces.recover": "servers end what a dead one began",
    "workspaces.close": "the store stops what it is at when it is closed",
    "open": "opens the store; a client is constructed",
    "memories.in_conversation": "the memories of one conversation, for the pages",
    "conversations.participants": "importers add newcomers to a space",
    "conversations.position": "the pages show the messages around one message",
    "conversations.compare": "importers skip what is there",
    "conversations.delete_messages": "chat commands erase several messages at once",
    "users.find_by_name": "the command line finds people by name",
    "places.update": "the pages edit a place",
    "documents.add": "importers read other formats",
    "documents.count_new": "importers preview",
    "documents.marks": "MCP tells its clients what has changed",
    "documents.page": "tools and pages show a document page by page",
    "facts.share": "review and chat commands copy a memory into a space",
    "facts.memories": "spaces.memories for the client",
    "review.get": "chat commands and pages show the memories they decide on",
    "tools.add": "tools are Python functions",
    "tools.get": "tools are Python functions",
    "tools.select": "tools are Python functions; the client lists their schemas",
    "keys.adopt": "the command line stores the admin's key",
    "keys.authenticate": "servers check the secret of a request",
    "retention.remove_old": "the background of a store, and the turn of a workspace",
    "retention.start": "the store removes old rows while it is open",
    "retention.stop": "the store removes old rows while it is open",
    "jobs.counts": "jobs.list has the counts for the client",
}
ONLY_IN_THE_CLIENT = {
    "close": "the library is closed by its context manager",
    "health": "a server may be down",
    "ready": "a server may not be ready",
    "tools.list": "the schemas of the library's tools.select",
    "chat.command": "bots of a process have remembrancer.chat",
    "keys.own": "a client may not know its own role",
}
ARGUMENTS = {
    "on_progress": "a request has one answer; another request asks again",
    "source": "the library says through which entry point a memory came",
    "counts": "a look at the playground of the pages is no use of a memory",
    "prompt": "tools of a process know the conversation that they recall for",
    "among": "the store of LangGraph filters its items before recall",
    "in_space": "older paths know facts only",
    "progress": "the command line shows progress",
}
"""Arguments of the library alone."""


def _public(thing: object) -> Iterator[str]:
    return (name for name in dir(thing) if not name.startswith("_"))


def _library(memory: Remembrancer) -> dict[str, Callable[..., Any]]:
    methods: dict[str, Callable[..., Any]] = {}
    for noun in _public(memory):
        thing = getattr(memory, noun)
        if noun in ONLY_IN_THE_LIBRARY:
            continue
        if inspect.ismethod(thing):
            methods[noun] = thing
            continue
        for verb in _public(thing):
            if callable(getattr(thing, verb)):
                methods[f"{noun}.{verb}"] = getattr(thing, verb)
    return methods


def _client() -> dict[str, Callable[..., Any]]:
    client = AsyncClient()
    nouns = {name: noun for name, noun in vars(client).items() if isinstance(noun, Group)}
    methods = {name: getattr(client, name) for name in _public(client) if name not in nouns}
    for noun, group in nouns.items():
        methods |= {f"{noun}.{verb}": getattr(group, verb) for verb in _public(group)}
    return {
        name: method
        for name, method in methods.items()
        if callable(method) and not name.endswith("sender")
    }


def _arguments(method: Callable[..., Any], *left_out: str) -> tuple[list[str], set[str]]:
    """The positional arguments in order, and the names of the others."""
    positional, keywords = [], set()
    for parameter in _signature(method).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            positional.append(parameter.name)
        else:
            keywords.add(parameter.name)
    return [name for name in positional if name != "actor"], keywords - set(left_out)


async def test_library_and_client_have_the_same_methods(opened: Remembrancer) -> None:
    """Whatever one of them lacks is listed, with the reason."""
    library, client = set(_library(opened)), set(_client())
    assert library - client - set(ONLY_IN_THE_LIBRARY) == set()
    assert client - library - set(ONLY_IN_THE_CLIENT) == set()
    assert set(ONLY_IN_THE_CLIENT) <= client - library
    listed = {name for name in ONLY_IN_THE_LIBRARY if "." in name}
    assert listed <= library - client


async def test_their_arguments_have_the_same_names(opened: Remembrancer) -> None:
    """In the same order where they are positional; the library's actor is the client's key."""
    library, client = _library(opened), _client()
    for name in sorted(set(library) & set(client)):
        acting = () if name in {"remember", "recall"} else ("user", "agent")
        theirs = _arguments(client[name], *acting, *ARGUMENTS)
        assert _arguments(library[name], *ARGUMENTS) == theirs, name


async def test_a_list_has_items_on_both_sides(opened: Remembrancer) -> None:
    """Whatever returns several things returns an object with ``items``."""
    library, client = _library(opened), _client()
    for name in sorted(set(library) & set(client)):
        for method in (library[name], client[name]):
            returned = str(inspect.signature(method).return_annotation)
            assert not returned.startswith(("list[", "collections.abc.Sequence[")), name


@pytest.mark.parametrize("noun", ["memories", "users", "conversations", "spaces", "agents"])
async def test_every_operation_is_documented(opened: Remembrancer, noun: str) -> None:
    """In the library and in the client."""
    for thing in (getattr(opened, noun), getattr(AsyncClient(), noun)):
        for verb in _public(thing):
            if callable(getattr(thing, verb)) and verb != "sender":
                assert inspect.getdoc(getattr(thing, verb)), f"{noun}.{verb}"

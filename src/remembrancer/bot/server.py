"""A server behind the signatures of the library."""

from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from remembrancer.access import Actor
from remembrancer.client import AsyncClient

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer


class _Noun:
    """A part of a client whose operations take an actor first, as the library's do.

    Library and client have the same nouns, verbs and arguments otherwise (decision 26).
    """

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> "_Noun":
        return _Noun(getattr(self._part, name))

    def __call__(self, actor: Actor, *args: object, **kwargs: object) -> Any:
        ids = {"user": actor.user_name or actor.user_id, "agent": actor.agent_id}
        takes = signature(self._part).parameters
        return self._part(*args, **kwargs, **{name: ids[name] for name in ids if name in takes})


def library_of(client: AsyncClient) -> "Remembrancer":
    """Return a library whose operations are requests of the client."""
    return cast("Remembrancer", _Noun(client))

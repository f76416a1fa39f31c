"""The store that an HTTP request is served with: that of the workspace its key is of."""

import logging
from contextlib import AsyncExitStack
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError
from starlette.types import Scope

from remembrancer.access import REFUSED_KEY
from remembrancer.app import Remembrancer
from remembrancer.errors import (
    ConfigurationError,
    NotFound,
    RemembrancerError,
    Unauthenticated,
    WorkspaceUnavailable,
)
from remembrancer.keys.service import PREFIX, workspace_of
from remembrancer.telemetry.ids import bind
from remembrancer.workspaces.schemas import WorkspaceState

log = logging.getLogger(__name__)

_STORE: Final = "remembrancer.store"
_LOANS: Final = "remembrancer.loans"
_STATES: Final = (WorkspaceState.ACTIVE, WorkspaceState.SUSPENDED)

_UNUSABLE: Final = (
    "the workspace cannot be used now; try again later, or ask whoever runs this server"
)


def lend_until_end(scope: Scope) -> AsyncExitStack:
    """Return what gives back at its end the store that a request takes."""
    loans = scope[_LOANS] = AsyncExitStack()
    return loans


def store_of(scope: Scope) -> Remembrancer:
    """Return the store of the request: the default one, unless its key has named another."""
    store: Remembrancer = scope.get(_STORE) or scope["app"].state.memory
    return store


async def take_store(scope: Scope, secret: str) -> Remembrancer:
    """Take the store that a key, a link or a session is of, until the request ends.

    Raises ``Unauthenticated`` for an unknown workspace, as for an unknown key, and
    ``WorkspaceUnavailable`` for one that cannot be used: why is for the log alone, since nobody
    knows yet who asks.
    """
    return await _take(scope, workspace_of(secret), REFUSED_KEY)


async def take_store_of_bearer(scope: Scope, secret: str) -> Remembrancer:
    """Take the store of a key, or of the workspace that a token of the identity provider names."""
    if secret.startswith(PREFIX):
        return await take_store(scope, secret)
    tokens = scope["app"].state.memory.keys.tokens
    if tokens is None or "." not in secret:
        return await take_store(scope, "")
    return await _take(scope, await tokens.workspace_of(secret), tokens.refused)


async def _take(scope: Scope, workspace: str, refusal: str) -> Remembrancer:
    default: Remembrancer = scope["app"].state.memory
    loans: AsyncExitStack = scope[_LOANS]
    try:
        store = await loans.enter_async_context(
            default.host.use(workspace, states=_STATES, is_noted=False)
        )
    except NotFound:
        raise Unauthenticated(refusal) from None
    except (RemembrancerError, ConfigurationError, DBAPIError, psycopg.Error) as error:
        # What the driver says may quote data.
        is_ours = isinstance(error, RemembrancerError) or (
            isinstance(error, ConfigurationError) and error.__cause__ is None
        )
        reason = str(error) if is_ours else type(error).__name__
        log.warning("the workspace %.40s cannot be used: %s", workspace, reason)
        raise WorkspaceUnavailable(_UNUSABLE) from None
    scope[_STORE] = store
    return store


def check_workspace(scope: Scope, *, is_new: bool = True) -> None:
    """Refuse a request to a workspace that is suspended, or asks too often, if it ``is_new``.

    Called once the key is known: strangers do not learn which workspaces there are.
    """
    store = store_of(scope)
    if store.is_default:
        return
    bind(workspace=store.workspace)
    host = scope["app"].state.memory.host
    host.check(store)
    host.note(store)
    if is_new and (most := host.limits(store).get("requests_per_minute")):
        scope["app"].state.rate_limit.count(f"workspace {store.workspace}", most)

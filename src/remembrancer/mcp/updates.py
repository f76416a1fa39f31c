"""Notifications about resources that show something else than before."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from typing import Final, TypeVar

import mcp_types as protocol
from mcp.server.session import ServerSession
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from remembrancer.errors import InvalidInput
from remembrancer.mcp.resources import ResourceRequest, parse
from remembrancer.mcp.sources import Source

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Ask = Callable[[Callable[[Source], Awaitable[Answer]]], Awaitable[Answer]]

MOST_RESOURCES: Final = 50
"""Resources that one client subscribes to."""
_TOO_MANY: Final = f"are too many to subscribe to; subscribe to at most {MOST_RESOURCES}"
_RETRY_SECONDS: Final = 1.0


class ListenStream:
    """One ``subscriptions/listen`` request (protocol 2026-07-28), whose answer is a stream."""

    def __init__(
        self,
        session: ServerSession,
        request_id: protocol.RequestId | None,
        params: protocol.SubscriptionsListenRequestParams,
    ) -> None:
        self._session = session
        self._id = request_id
        self._uris = params.notifications.resource_subscriptions or []
        self._is_acknowledged = False

    async def run(self, source: Source) -> protocol.SubscriptionsListenResult:
        """Send what changes until the source ends. It may be called again with another source."""
        wanted = _wanted(source, self._uris)
        async with aclosing(source.changes(wanted)) as changes:
            async for changed in changes:
                await self._send(changed, wanted)
        return protocol.SubscriptionsListenResult(_meta=self._meta)

    async def _send(self, changed: Collection[str], wanted: Collection[str]) -> None:
        if not self._is_acknowledged:
            self._is_acknowledged = True
            # The lists of tools, resources and prompts stay as they are while a server runs.
            honored = protocol.SubscriptionFilter(resource_subscriptions=list(wanted) or None)
            await self._notify(
                protocol.SubscriptionsAcknowledgedNotification(
                    params=protocol.SubscriptionsAcknowledgedNotificationParams(
                        notifications=honored, _meta=self._meta
                    )
                )
            )
        elif not changed:
            # Another source has been opened: what happened meanwhile is not known.
            changed = wanted
        for uri in changed:
            await self._notify(
                protocol.ResourceUpdatedNotification(
                    params=protocol.ResourceUpdatedNotificationParams(uri=uri, _meta=self._meta)
                )
            )

    async def _notify(self, notification: protocol.ServerNotification) -> None:
        await self._session.send_notification(notification, related_request_id=self._id)

    @property
    def _meta(self) -> dict[str, object]:
        return {SUBSCRIPTION_ID_META_KEY: self._id}


class Subscriptions:
    """``resources/subscribe`` of a connection that stays open (protocol 2025-11-25 and before)."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def subscribe(self, ask: Ask[None], session: ServerSession, uri: str) -> None:
        """Tell the client when a resource changes, from now on."""
        if uri in self._tasks:
            return
        if len(self._tasks) >= MOST_RESOURCES:
            raise InvalidInput(_TOO_MANY, field="uri")
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks[uri] = asyncio.create_task(_follow(ask, session, uri, begun))
        try:
            await begun
        except BaseException:
            await self.unsubscribe(uri)
            raise

    async def unsubscribe(self, uri: str) -> None:
        """Tell the client no more."""
        if (task := self._tasks.pop(uri, None)) is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        """End all subscriptions."""
        for uri in list(self._tasks):
            await self.unsubscribe(uri)


async def _follow(
    ask: Ask[None], session: ServerSession, uri: str, begun: asyncio.Future[None]
) -> None:
    async def run(source: Source) -> None:
        async with aclosing(source.changes(_wanted(source, [uri]))) as changes:
            async for _ in changes:
                if begun.done():
                    await session.send_resource_updated(uri)
                else:
                    begun.set_result(None)

    while True:
        try:
            await ask(run)
        except Exception as error:
            if not begun.done():
                begun.set_exception(error)
                return
            log.warning("a subscription waits: %s", type(error).__name__)
        await asyncio.sleep(_RETRY_SECONDS)


def _wanted(source: Source, uris: Collection[str]) -> Mapping[str, ResourceRequest]:
    if len(uris) > MOST_RESOURCES:
        raise InvalidInput(_TOO_MANY, field="uri")
    return {uri: parse(uri, source.id_arguments) for uri in uris}

"""A store for LangGraph, kept as memories: ``pip install 'remembrancer[langgraph]'``."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from remembrancer.access import Actor
from remembrancer.adapters.common import Bridge, missing
from remembrancer.adapters.filters import cut, ends_with, matches, shown, starts_with
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput
from remembrancer.records.schemas import Address, Changes, Record, RecordWrite

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise missing("langgraph") from error

SHELF: Final = "langgraph"
"""The first name in the address of every item: what keeps it."""
_WHOLE: Final = "$"

Who = Actor | Callable[[], Actor]
"""Whom a store acts for, or what says so at each call."""


class RemembrancerStore(BaseStore):
    """Items of a LangGraph store as one user's memories, through one agent.

    ``who`` is the actor, or a function that returns it at each call, so that one compiled graph
    can serve many users. Whatever the namespaces are called, nothing of another user is reached.

    ``fields`` are what is recalled of a value, as paths of LangGraph; the whole value unless
    given. A value may have 8,192 bytes as JSON; what recall has of it is cut at the length of a
    memory. Make the store on the event loop that ``memory`` was opened on. Threads may use the
    methods that are not awaited.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Remembrancer,
        who: Who,
        *,
        fields: Sequence[str] = (_WHOLE,),
        ttl: TTLConfig | None = None,
    ) -> None:
        self._records = memory.records
        self._who = who
        self._fields = tuple(fields)
        self._bridge = Bridge()
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what :meth:`abatch` does, for code in a thread beside the event loop."""
        return self._bridge.wait(self._done(self._actor(), list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: what they read is as it was before what they write.

        All that is written is written, or nothing. Raises ``InvalidInput`` for what may not be
        stored.
        """
        return await self._bridge.run(self._done(self._actor(), list(ops)))

    def _actor(self) -> Actor:
        return self._who() if callable(self._who) else self._who

    async def _done(self, actor: Actor, ops: Sequence[Op]) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        gets = [op for op in ops if isinstance(op, GetOp)]
        found = await self._got(actor, gets) if gets else {}
        results = [await self._read(actor, op, found) for op in ops]
        puts = {_address(op): op for op in ops if isinstance(op, PutOp)}
        if puts:
            await self._records.write(
                actor,
                Changes(
                    [self._write(at, op) for at, op in puts.items() if op.value is not None],
                    [at for at, op in puts.items() if op.value is None],
                ),
                source=SHELF,
            )
        return results

    async def _got(self, actor: Actor, gets: Sequence[GetOp]) -> dict[Address, Record]:
        refreshed = {_address(op) for op in gets if op.refresh_ttl}
        return await self._records.get(actor, {_address(op) for op in gets}, refresh=refreshed)

    async def _read(self, actor: Actor, op: Op, found: dict[Address, Record]) -> Result:
        if isinstance(op, GetOp):
            record = found.get(_address(op))
            return None if record is None else _item(record)
        if isinstance(op, SearchOp):
            return await self._search(actor, op)
        if isinstance(op, ListNamespacesOp):
            return await self._namespaces(actor, op)
        return None

    async def _search(self, actor: Actor, op: SearchOp) -> list[SearchItem]:
        _check_page(op.limit, op.offset)
        wanted = op.filter
        records = await self._records.search(
            actor,
            (SHELF, *op.namespace_prefix),
            query=op.query,
            matches=(lambda metadata: matches(metadata["value"], wanted)) if wanted else None,
            limit=op.limit,
            offset=op.offset,
            refresh=op.refresh_ttl,
        )
        return [_search_item(record) for record in records]

    async def _namespaces(self, actor: Actor, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        _check_page(op.limit, op.offset)
        kept = {at[1:-1] for at in await self._records.addresses(actor, (SHELF,))}
        conditions = op.match_conditions or ()
        found = [one for one in kept if all(_meets(one, each) for each in conditions)]
        return sorted({one[: op.max_depth] for one in found})[op.offset : op.offset + op.limit]

    def _write(self, address: Address, op: PutOp) -> RecordWrite:
        value = dict(op.value or {})
        paths = op.index or self._fields
        return RecordWrite(
            address,
            cut(_words(value, paths), self._records.longest),
            {"value": value},
            ttl=op.ttl,
            recalled=op.index is not False,
        )


def _address(op: GetOp | PutOp) -> Address:
    return (SHELF, *op.namespace, op.key)


def _words(value: dict[str, Any], paths: Sequence[str]) -> str:
    texts = [
        text
        for path in paths
        for text in ([shown(value)] if path == _WHOLE else get_text_at_path(value, path))
    ]
    return "; ".join(texts)


def _meets(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    if condition.match_type == "prefix":
        return starts_with(namespace, condition.path)
    if condition.match_type == "suffix":
        return ends_with(namespace, condition.path)
    raise ValueError(f"Unsupported match type: {condition.match_type}")


def _check_page(limit: int, offset: int) -> None:
    for name, value in (("limit", limit), ("offset", offset)):
        if value < 0:
            raise InvalidInput("must be 0 or more", field=name)


def _item(record: Record) -> Item:
    return Item(**_fields(record))


def _search_item(record: Record) -> SearchItem:
    return SearchItem(**_fields(record), score=record.score)


def _fields(record: Record) -> dict[str, Any]:
    return {
        "namespace": record.address[1:-1],
        "key": record.address[-1],
        "value": dict(record.metadata["value"]),
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }

"""A LangGraph store, backed by memories: ``pip install 'remembrancer[langgraph]'``."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from remembrancer.access import Actor
from remembrancer.adapters.common import Bridge
from remembrancer.adapters.filters import as_text, conditions, cut, ends_with, starts_with
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput
from remembrancer.extras import extra
from remembrancer.records.schemas import Address, Changes, Record, RecordWrite
from remembrancer.text import storable_json

with extra("langgraph"):
    import langgraph.store.base as base  # noqa: PLR0402  a missing module must fail here

SHELF: Final = "langgraph"
"""The first name in the address of every item."""
_WHOLE: Final = "$"

ActorSource = Actor | Callable[[], Actor]
"""The actor, or a function that returns it at each call."""


class RemembrancerStore(base.BaseStore):
    """Items of a LangGraph store as memories of one user and agent.

    ``actor`` may be a function that returns the actor at each call, so that one compiled graph
    can serve many users. No namespace reaches the items of another user.

    ``fields`` are the parts of a value for recall, as LangGraph paths; by default the whole
    value. A value may have 8,192 bytes as JSON; its text for recall is cut at the length of a
    memory. Construct the store on the event loop of ``memory``. Threads may use the synchronous
    methods.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Remembrancer,
        actor: ActorSource,
        *,
        fields: Sequence[str] = (_WHOLE,),
        ttl: base.TTLConfig | None = None,
    ) -> None:
        self._records = memory.records
        self._actor_source = actor
        self._fields = tuple(fields)
        self._bridge = Bridge()
        self.ttl_config = ttl

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run :meth:`abatch` for code in a thread beside the event loop."""
        return self._bridge.wait(self._run(self._actor(), list(ops)))

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations: all reads first, then all writes in one transaction.

        Raises ``InvalidInput``, and writes nothing, if a value may not be stored.
        """
        return await self._bridge.run(self._run(self._actor(), list(ops)))

    def _actor(self) -> Actor:
        source = self._actor_source
        return source() if callable(source) else source

    async def _run(self, actor: Actor, ops: Sequence[base.Op]) -> list[base.Result]:
        for op in ops:
            base.validate_op_namespace(op)
        gets = [op for op in ops if isinstance(op, base.GetOp)]
        records: dict[Address, Record] = {}
        if gets:
            refreshed = {_address(op) for op in gets if op.refresh_ttl}
            records = await self._records.get(
                actor, {_address(op) for op in gets}, refresh=refreshed
            )
        results = [await self._read(actor, op, records) for op in ops]
        puts = {_address(op): op for op in ops if isinstance(op, base.PutOp)}
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

    async def _read(self, actor: Actor, op: base.Op, records: dict[Address, Record]) -> base.Result:
        if isinstance(op, base.GetOp):
            record = records.get(_address(op))
            return None if record is None else base.Item(**_fields(record))
        if isinstance(op, base.SearchOp):
            return await self._search(actor, op)
        if isinstance(op, base.ListNamespacesOp):
            return await self._namespaces(actor, op)
        return None

    async def _search(self, actor: Actor, op: base.SearchOp) -> list[base.SearchItem]:
        _check_page(op.limit, op.offset)
        try:
            wanted = storable_json(dict(op.filter or {}))
        except ValueError as error:
            raise InvalidInput(str(error), field="filter") from None
        records = await self._records.search(
            actor,
            (SHELF, *op.namespace_prefix),
            query=op.query,
            conditions=conditions(wanted),
            limit=op.limit,
            offset=op.offset,
            refresh=op.refresh_ttl,
        )
        return [base.SearchItem(**_fields(record), score=record.score) for record in records]

    async def _namespaces(self, actor: Actor, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        _check_page(op.limit, op.offset)
        addresses = await self._records.addresses(actor, (SHELF,))
        conditions = op.match_conditions or ()
        namespaces = {
            namespace[: op.max_depth]
            for namespace in {address[1:-1] for address in addresses}
            if all(_meets(namespace, condition) for condition in conditions)
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _write(self, address: Address, op: base.PutOp) -> RecordWrite:
        value = dict(op.value or {})
        texts = [
            text
            for path in op.index or self._fields
            for text in ([as_text(value)] if path == _WHOLE else base.get_text_at_path(value, path))
        ]
        return RecordWrite(
            address,
            cut("; ".join(texts), self._records.longest),
            {"value": value},
            ttl=op.ttl,
            recalled=op.index is not False,
        )


def _address(op: base.GetOp | base.PutOp) -> Address:
    return (SHELF, *op.namespace, op.key)


def _meets(namespace: tuple[str, ...], condition: base.MatchCondition) -> bool:
    if condition.match_type == "prefix":
        return starts_with(namespace, condition.path)
    if condition.match_type == "suffix":
        return ends_with(namespace, condition.path)
    raise ValueError(f"unknown match type {condition.match_type}; use prefix or suffix")


def _check_page(limit: int, offset: int) -> None:
    for name, value in (("limit", limit), ("offset", offset)):
        if value < 0:
            raise InvalidInput("must be 0 or more", field=name)


def _fields(record: Record) -> dict[str, Any]:
    return {
        "namespace": record.address[1:-1],
        "key": record.address[-1],
        "value": dict(record.metadata["value"]),
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }

"""Runs statements together: all are sent at once, then all answers are read.

psycopg's pipeline sends each statement by itself and looks for answers in between, which takes most
of the time of a short round trip.
"""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import Dumper, PyFormat, Transformer
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from remembrancer.db.rows import row_maker
from remembrancer.db.slow import SlowTrips
from remembrancer.db.sql import NumberedSql, Statement
from remembrancer.telemetry.spans import span

MOST_PREPARED: Final = 200
"""Statements that a connection keeps prepared; further ones are planned at each use."""


class Binary(bytes):
    """A value as Postgres reads it in binary, such as a vector, which nobody has to parse."""


class _BinaryDumper(Dumper):
    # Without a type, so that the statement's CAST gives it one.
    format = Format.BINARY

    def dump(self, obj: Binary) -> Binary:
        return obj


psycopg.adapters.register_dumper(Binary, _BinaryDumper)


class Session:
    """The statements that a connection has prepared.

    It does not refer to the connection: they would keep each other alive.
    """

    def __init__(
        self, driver: "psycopg.AsyncConnection[Any]", slow: SlowTrips | None = None
    ) -> None:
        self.slow = slow
        self.is_pooled = False
        """Whether a pooler stands between us and Postgres, such as PgBouncer."""
        self.most_prepared = MOST_PREPARED
        self._connection = driver.pgconn
        self._transformer = Transformer(driver.adapters)
        # By text and types of the values.
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}

    def travel(
        self, statements: Sequence[Statement], in_effect: Mapping[str, str]
    ) -> PQGen[list[Sequence[Any]]]:
        """Send the statements and read their rows."""
        connection = self._connection
        connection.enter_pipeline_mode()
        settings = dict(in_effect)
        skipped = [self._put_all(statement, settings) - 1 for statement in statements]
        connection.pipeline_sync()
        yield from send(connection)
        answers: list[Sequence[Any]] = []
        error: psycopg.Error | None = None
        for statement, skip in zip(statements, skipped, strict=True):
            for number in range(skip + 1):
                [result] = yield from fetch_many(connection)
                if result.status == ExecStatus.FATAL_ERROR:
                    error = error or psycopg.errors.error_from_result(result)
                elif number == skip and error is None:
                    answers.append(self._rows(result, statement.row_type))
        yield from fetch_many(connection)
        connection.exit_pipeline_mode()
        if error is not None:
            # Whether the new ones are prepared is not known.
            self._names.clear()
            raise error
        return answers

    def _put_all(self, statement: Statement, in_effect: dict[str, str]) -> int:
        """Send a statement after its settings; return the number of answers."""
        count = 0
        if changes := statement.settings.items() - in_effect.items():
            in_effect |= changes
            count = self.put(_setting(frozenset(changes)), [])
        binds = statement.binds
        return count + self.put(statement.sql, [binds[name] for name in statement.sql.names])

    def put(self, sql: NumberedSql, values: Sequence[Any]) -> int:
        """Send a statement; return the number of answers."""
        connection, transformer = self._connection, self._transformer
        dumped = transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        types = transformer.types or ()
        key = sql.text, types
        name = self._names.get(key)
        if name is None and len(self._names) >= self.most_prepared:
            connection.send_query_params(
                sql.text.encode(), dumped, types, transformer.formats, Format.BINARY
            )
            return 1
        is_new = name is None
        if name is None:
            self._names[key] = name = b"remembrancer_%d" % next(_numbers)
            connection.send_prepare(name, sql.text.encode(), types)
        connection.send_query_prepared(name, dumped, transformer.formats, Format.BINARY)
        return 1 + is_new

    def _rows(self, result: PGresult, row_type: type[Any] | None) -> Sequence[Any]:
        if result.status != ExecStatus.TUPLES_OK:
            return []
        columns = tuple((result.fname(n) or b"").decode() for n in range(result.nfields))
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, row_maker(row_type, columns))


@cache
def _setting(settings: frozenset[tuple[str, str]]) -> NumberedSql:
    # Without values to bind, it is planned once a connection.
    calls = (f"set_config('{name}', '{value}', true)" for name, value in sorted(settings))
    return NumberedSql(f"SELECT {', '.join(calls)}", ())


_sessions: Final[WeakKeyDictionary["psycopg.AsyncConnection[Any]", Session]] = WeakKeyDictionary()
_numbers: Final = count()


def new_session(driver: "psycopg.AsyncConnection[Any]", slow: SlowTrips | None) -> Session:
    session = _sessions[driver] = Session(driver, slow)
    return session


def session_of(driver: "psycopg.AsyncConnection[Any]") -> Session:
    return _sessions[driver]


async def pipelined(
    driver: "psycopg.AsyncConnection[Any]",
    statements: Sequence[Statement],
    in_effect: Mapping[str, str] = MappingProxyType({}),
) -> list[Sequence[Any]]:
    """Return the rows of each statement. Raises the error of the first that fails.

    ``in_effect`` are settings that the first statement makes.
    """
    session = _sessions[driver]
    began = time.perf_counter()
    with span("database.trip") as trip:
        trip.note(db_query_summary=" ".join(statement.sql.name for statement in statements))
        try:
            rows = await driver.wait(session.travel(statements, in_effect))
        except psycopg.errors.InvalidSqlStatementName:
            # After a rollback psycopg drops all that is prepared. No statement of this trip has
            # run: the first one was missing too.
            rows = await driver.wait(session.travel(statements, in_effect))
    seconds = time.perf_counter() - began
    if session.slow is not None and seconds >= session.slow.limit:
        sent = [(each.sql.text, {**in_effect, **each.settings}) for each in statements]
        session.slow.note(seconds, sent)
    return rows

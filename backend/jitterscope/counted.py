"""Rows of a statement that are looked at as they arrive.

A plain query has its whole result in memory before the first row can be looked at. Rows whose size or number their
sender chooses (texts, attributes, payloads) are read with this: a request that would hold too much ends before it does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, cast

import psycopg
from sqlalchemy.orm import Session

from jitterscope.kit.allowance import hold, release

Row = tuple[Any, ...]
Parameters = Sequence[object] | Mapping[str, object]
# Of Python's objects, without their content.
_OBJECT_BYTES = 56


@contextmanager
def rows(session: Session, statement: str, parameters: Parameters, *, at_once: int = 100) -> Iterator[Iterator[Row]]:
    """As `arriving`, for rows that are kept: each is counted. Raises TooMuch and TooLong while rows are read."""
    with arriving(session, statement, parameters, at_once=at_once) as found:
        yield _counted(found)


@contextmanager
def arriving(session: Session, statement: str, parameters: Parameters, *, at_once: int) -> Iterator[Iterator[Row]]:
    """Run a statement in psycopg's style inside the session's transaction.

    `at_once` rows are received together. The session cannot be used for anything else inside the block, and its
    transaction is over if the block leaves rows unread.
    """
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    with connection.cursor(binary=True) as cursor:
        found = cast(Generator[Row], cursor.stream(statement, parameters, size=at_once))
        with closing(found):  # ends the statement, whatever ends the block
            yield found


def groups(found: Iterable[Row], values_of: Callable[[Row], int], most: int) -> Iterator[list[Row]]:
    """Rows in groups to decode together and drop: a group is complete with `most` values or more.

    Counts its values and one copy of them until the next one is asked for. Raises TooMuch and TooLong.
    """
    group: list[Row] = []
    values = 0
    for row in found:
        group.append(row)
        values += values_of(row)
        if values >= most:
            yield from _held(group, values)
            group, values = [], 0
    if group:
        yield from _held(group, values)


def _held(group: list[Row], values: int) -> Iterator[list[Row]]:
    size_bytes = 2 * 8 * values
    hold(size_bytes)
    yield group
    release(size_bytes)


def _counted(found: Iterator[Row]) -> Iterator[Row]:
    for row in found:
        hold(_OBJECT_BYTES + sum(map(size_of, row)))
        yield row


def size_of(value: object) -> int:
    """Bytes that a value of a row takes in memory."""
    if isinstance(value, str | bytes):
        return _OBJECT_BYTES + len(value)
    if isinstance(value, Mapping):
        return 2 * _OBJECT_BYTES + sum(size_of(key) + size_of(one) for key, one in value.items())
    if isinstance(value, list):
        return _OBJECT_BYTES + sum(map(size_of, value))
    return _OBJECT_BYTES // 2

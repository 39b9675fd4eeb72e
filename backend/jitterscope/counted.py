"""Rows of a statement that are counted as they arrive.

A plain query has its whole result in memory before the first row can be looked at. Rows whose size their sender
chooses (texts, attributes, payloads) are read with this: a request that would hold too much ends before it does.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, cast

import psycopg
from sqlalchemy.orm import Session

from jitterscope.kit.allowance import hold

Row = tuple[Any, ...]
# Of Python's objects, without their content.
_OBJECT_BYTES = 56


@contextmanager
def rows(
    session: Session, statement: str, parameters: Sequence[object] | Mapping[str, object], *, at_once: int = 100
) -> Iterator[Iterator[Row]]:
    """Run a statement in psycopg's style inside the session's transaction.

    `at_once` rows are received together. The session cannot be used for anything else inside the block, and its
    transaction is over if the block leaves rows unread. Raises TooMuch and TooLong while rows are read.
    """
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    with connection.cursor(binary=True) as cursor:
        found = cast(Generator[Row], cursor.stream(statement, parameters, size=at_once))
        with closing(found):  # ends the statement, whatever ends the block
            yield _counted(found)


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

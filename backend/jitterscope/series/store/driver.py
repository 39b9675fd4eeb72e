"""The session's connection for statements that the driver sends as they are: binary parameters, many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from sqlalchemy.orm import Session


def driver(session: Session) -> psycopg.Connection[Any]:
    """The psycopg connection of the session, inside the same transaction."""
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    return connection


def insert(session: Session, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Run a statement for each row."""
    if rows:
        with driver(session).cursor() as cursor:
            cursor.executemany(statement, rows)  # one round trip for all, in the protocol's pipeline mode

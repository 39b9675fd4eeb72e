"""One row of an organization in every tenant table, made from the schema: new tables are covered automatically."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

# In every text column of the seeded rows: wherever it appears, data leaked.
SENTINEL = "belongs-to-somebody-else"
FIRST_ID = 7_000_000_000


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    nullable: bool
    check: str | None  # a value that a CHECK (… IN …) of the column allows


@dataclass
class Seeded:
    """Table → id of its seeded row, for tables that have ids."""

    organization_id: int
    tables: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)


def tenant_tables(connection: psycopg.Connection) -> list[str]:
    """Tables with a column organization_id, except partitions."""
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id' "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"
    )
    return [row[0] for row in rows]


def seed(superuser_url: str, organization_id: int) -> Seeded:
    """Insert as a superuser with foreign keys unchecked; memberships and sessions stay as they are."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        now_us = int(time.time() * 1e6)
        connection.execute("SELECT ensure_time_partitions(%s, %s)", (now_us, now_us))
        tables = tenant_tables(connection)
        seeded = Seeded(organization_id, tables)
        first = FIRST_ID + organization_id * 1000  # other organizations might also be seeded
        seeded.ids = {table: first + number for number, table in enumerate(tables) if _has_id(connection, table)}
        for table in tables:
            _insert(connection, table, seeded, now_us)
        return seeded


def fingerprint(superuser_url: str, organization_id: int) -> dict[str, str]:
    """Table → hash of everything that the organization has in it."""
    with psycopg.connect(superuser_url) as connection:
        found: dict[str, str] = {}
        for table in tenant_tables(connection):
            query = sql.SQL(
                "SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {} t "
                "WHERE organization_id = %s"
            ).format(sql.Identifier(table))
            row = connection.execute(query, (organization_id,)).fetchone()
            assert row is not None
            found[table] = row[0]
        return found


def _has_id(connection: psycopg.Connection, table: str) -> bool:
    return any(column.name == "id" for column in _columns(connection, table))


def _columns(connection: psycopg.Connection, table: str) -> list[Column]:
    checks = [
        row[0]
        for row in connection.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'c'",
            (table,),
        )
    ]
    found = []
    for name, kind, not_null in connection.execute(
        "SELECT attname, format_type(atttypid, NULL), attnotnull FROM pg_attribute "
        "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
        (table,),
    ):
        allowed = next(
            (match[1] for check in checks if (match := re.search(rf"\({name} = ANY \(ARRAY\['([^']+)'", check))), None
        )
        found.append(Column(name, kind, not not_null, allowed))
    return found


def _insert(connection: psycopg.Connection, table: str, seeded: Seeded, now_us: int) -> None:
    references: dict[str, str] = dict(
        connection.execute(
            "SELECT a.attname, k.confrelid::regclass::text FROM pg_constraint k JOIN pg_attribute a "
            "ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1] WHERE k.conrelid = %s::regclass AND k.contype = 'f'",
            (table,),
        ).fetchall()
    )
    values: dict[str, object] = {}
    for column in _columns(connection, table):
        value = _value(column, table, seeded, references, now_us)
        if value is not None:
            values[column.name] = value
    statement = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({}) ON CONFLICT DO NOTHING").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(sql.Placeholder() * len(values)),
    )
    connection.execute(statement, list(values.values()))


def _value(column: Column, table: str, seeded: Seeded, references: dict[str, str], now_us: int) -> object:
    if column.name == "organization_id":
        return seeded.organization_id
    if column.name == "id":
        return seeded.ids[table]
    if column.name in references:
        return seeded.ids.get(references[column.name], FIRST_ID)
    if column.check is not None:
        return column.check
    if column.name == "step_us":
        return 100_000
    if column.name.endswith("_us") and column.type == "bigint":
        return now_us
    match column.type:
        case "text":
            return f"{SENTINEL}-{seeded.organization_id}"
        case "text[]":
            return [SENTINEL]
        case "jsonb":
            return Jsonb({"text": SENTINEL})
        case "bytea":
            return f"{SENTINEL} {table} {seeded.organization_id}".encode()
        case "bigint" if column.name.endswith("_id"):
            return FIRST_ID
        case "bigint" | "integer" | "smallint":
            return 7
        case "bigint[]" | "integer[]":
            return [FIRST_ID % 2**31]
        case "double precision" | "real":
            return 0.5
        case "boolean":
            return False
        case "timestamp with time zone":
            return None if column.nullable else "2026-01-01T00:00:00Z"
        case other if column.nullable:
            return None
        case other:
            raise NotImplementedError(f"{table}.{column.name} has the type {other}: teach tests/support/seeding.py")

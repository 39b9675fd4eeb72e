"""What `make lint` says about SQL outside of a domain's store."""

from __future__ import annotations

from pathlib import Path

import pytest

import check_sql
from check_sql import is_store, sql_in, wrong_in


@pytest.mark.parametrize(
    "source",
    [
        "from sqlalchemy import select",
        "from sqlalchemy.dialects.postgresql import insert",
        "from sqlalchemy.orm import Session, load_only",
        "import sqlalchemy as sa",
        'STATEMENT = "SELECT id FROM resources"',
        'STATEMENT = f"""\n    WITH RECURSIVE up AS (SELECT {COLUMNS} FROM resources) SELECT * FROM up"""',
        'run("DELETE FROM facts WHERE true")',
        'run("UPDATE resources SET name = %s")',
        'run("CREATE INDEX CONCURRENTLY found ON facts (name)")',
        "def read(session): return session.scalars(statement).all()",
        "def read(cursor): return cursor.executemany(statement, rows)",
    ],
)
def test_sql_is_found(source: str) -> None:
    assert len(list(sql_in(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from sqlalchemy import Row\nfrom sqlalchemy.exc import IntegrityError\nfrom sqlalchemy.orm import Session",
        "def read(session):\n    return session.get(IncidentRow, 1)",
        "def count(pipeline):\n    return pipeline.execute()",
        '"""SELECT is what this module is about."""',
        'TITLE = "Select a channel"\nWHAT_TO_DO = "Update the chart and set the value."',
    ],
)
def test_what_is_no_sql(source: str) -> None:
    assert list(sql_in(source)) == []


def test_models_declare_tables_and_run_nothing() -> None:
    declared = "from sqlalchemy import Text, func\nfrom sqlalchemy.orm import Mapped, mapped_column"
    assert list(sql_in(declared, declares_tables=True)) == []
    assert len(list(sql_in("def read(session): return session.scalar(query)", declares_tables=True))) == 1


@pytest.mark.parametrize("name", ["mutes/store.py", "series/store/blocks.py"])
def test_stores(name: str) -> None:
    assert is_store(Path(name))


@pytest.mark.parametrize("name", ["sharing/endpoints.py", "health.py", "restore.py", "notify/store_page.py"])
def test_other_modules(name: str) -> None:
    assert not is_store(Path(name))


def test_routes_hold_none_and_exceptions_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_sql, "EXCEPTIONS", {"db.py": "transactions", "schema/": "migrations"})
    for name in ("db.py", "mutes/store.py", "mutes/endpoints.py", "schema/cli.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name == "schema/cli.py" else "from sqlalchemy import text\n")
    assert [line.partition(":")[0] for line in wrong_in(tmp_path)] == ["mutes/endpoints.py", "schema/"]

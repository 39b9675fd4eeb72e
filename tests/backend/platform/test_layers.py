"""Import rules that import-linter's contracts cannot express."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import jitterscope

PACKAGE = Path(jitterscope.__file__).parent
# Not domains: composition, the edges, and what runs the product rather than being part of it.
OUTSIDE = {"devstack", "labs", "schema", "kit"}
PRIVATE = re.compile(r"^(models|repository|endpoints.*|tasks|cli|_.*)$")
TIMESCALEDB = re.compile(r"hypertable|show_chunks|time_bucket|drop_chunks|_timescaledb", re.IGNORECASE)


def imports(file: Path) -> Iterator[str]:
    """Dotted names of this project's modules that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_domains_use_each_others_services_not_their_insides() -> None:
    seen, wrong = 0, []
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts
        if len(parts) < 2 or parts[0] in OUTSIDE:
            continue
        for name in imports(file):
            target = name.split(".")
            if target[0] != "jitterscope" or len(target) < 3 or target[1] in OUTSIDE | {parts[0]}:
                continue
            seen += 1
            if PRIVATE.match(target[2]):
                wrong.append(f"{'/'.join(parts)} imports {name}")
    assert wrong == []
    assert seen > 50


def test_timescaledb_is_known_to_storage_alone() -> None:
    allowed = {"series", "schema", "devstack"}
    wrong = [
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if file.relative_to(PACKAGE).parts[0] not in allowed and TIMESCALEDB.search(file.read_text())
    ]
    assert wrong == []


def test_migrations_form_one_line() -> None:
    folder = PACKAGE.parents[1] / "migrations" / "versions"
    found = {}
    for file in sorted(folder.glob("*.py")):
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}-\d{4}_[a-z0-9_]+\.py", file.name), file.name
        text = file.read_text()
        revision = re.search(r'^revision = "([^"]+)"', text, re.M)
        assert revision is not None
        assert revision[1] == file.name[:10].replace("-", "") + "_" + file.name[11:15], file.name
        before = re.search(r'^down_revision = (?:"([^"]+)"|None)', text, re.M)
        assert before is not None
        found[revision[1]] = before[1]
    assert list(found.values()) == [None, *list(found)[:-1]]  # each follows the one with the previous date

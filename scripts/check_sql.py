"""Fails if a module of the service holds SQL and is not in a store: docs/decisions/0103."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "backend" / "jitterscope"
# Modules and folders that belong to no domain, and what they need SQL for.
EXCEPTIONS = {
    "counted.py": "runs the statement of a store and counts the memory of its rows",
    "db.py": "begins transactions and binds each to an organization",
    "policies.py": "reads and writes the policy table of any domain",
    "schema/": "runs migrations, and creates the database and its roles",
    "sealed.py": "encrypts the secrets in the tables of any domain again",
}
# Of SQLAlchemy, all that modules outside of stores need: sessions and rows to pass on, addresses, and errors to catch.
USABLE = {"Connection", "Row", "Session", "URL", "inspect", "make_url"}
STATEMENT = re.compile(
    r"\s*(SELECT|INSERT\s+INTO|UPDATE\s+\S+\s+(AS\s+\S+\s+)?SET|DELETE\s+FROM|WITH\s+(RECURSIVE\s+)?\w+\s+AS|"
    r"(CREATE|ALTER|DROP|TRUNCATE|GRANT|REVOKE|COPY|LOCK)\s+[A-Z]+)\b"
)
RUN = {"execute", "executemany", "exec_driver_sql", "scalar", "scalars", "stream", "copy"}
CONNECTED = {"session", "connection", "cursor"}


def is_store(module: Path) -> bool:
    """Whether a module, relative to the package, is `store.py` or in a folder `store`."""
    return module.name == "store.py" or "store" in module.parts[:-1]


def sql_in(source: str, *, declares_tables: bool = False) -> Iterator[tuple[int, str]]:
    """(line, what) of the SQL in a module. `declares_tables`: it may use SQLAlchemy's types and column expressions."""
    tree = ast.parse(source)
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() if not declares_tables:
                for name in _builders(node):
                    yield node.lineno, f"imports {name}"
            case ast.Constant(value=str(value)) if id(node) not in texts and STATEMENT.match(value):
                yield node.lineno, f"has the statement {' '.join(value.split())[:40]!r}"
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in CONNECTED and attribute in RUN:
                yield node.lineno, f"uses {name}.{attribute}"


def _builders(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.split(".")[0] == "sqlalchemy"]
    module = node.module or ""
    if module.split(".")[0] != "sqlalchemy" or module == "sqlalchemy.exc":
        return []
    return [f"{module}.{alias.name}" for alias in node.names if alias.name not in USABLE]


def wrong_in(package: Path) -> list[str]:
    """What is wrong in a package: SQL outside of stores, and exceptions that nothing needs any more."""
    wrong: list[str] = []
    needed: set[str] = set()
    for file in sorted(package.rglob("*.py")):
        module = file.relative_to(package)
        if is_store(module):
            continue
        found = list(sql_in(file.read_text(), declares_tables=module.name == "models.py"))
        exception = next((one for one in EXCEPTIONS if str(module).startswith(one)), None)
        if exception is None:
            wrong += [f"{module}:{line}: {what}: move it to the domain's store" for line, what in found]
        elif found:
            needed.add(exception)
    return wrong + [f"{one}: has no SQL: remove the exception" for one in EXCEPTIONS if one not in needed]


def main() -> int:
    wrong = wrong_in(PACKAGE)
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

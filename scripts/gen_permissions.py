"""Writes docs/permissions.md from the route table: who may call what, and what is recorded; `--check` only compares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jitterscope.kit.declared import Route
from jitterscope.main import create_app
from jitterscope.tenancy.scopes import Role, role_allows

PAGE = Path(__file__).resolve().parents[1] / "docs" / "permissions.md"
ROLES: tuple[Role, ...] = ("viewer", "editor", "admin")
HEAD = """# Permissions

Generated from the route table by `make gen`: each route declares its row beside itself
([kit/declared.py](../backend/jitterscope/kit/declared.py)), and the application does not start with one that does not.
[The matrix](../tests/backend/tenancy/test_route_matrix.py) tries every kind of caller on every row.

*Roles* are members who are signed in; a token needs the scope, and its owner a role that holds it. *Recorded* are the
actions in the audit trail.

| route | needs | roles | recorded |
| --- | --- | --- | --- |
"""


def row(route: Route) -> str:
    """One line of the table."""
    access, audit = route.access, route.audit
    match access.who:
        case "scope":
            assert access.scope is not None
            needs = f"`{access.scope}`"
            roles = ", ".join(role for role in ROLES if role_allows(role, access.scope)) or "none: ingest tokens"
        case "any caller":
            needs, roles = "any session or token", "all"
        case "link":
            needs, roles = "a link to one incident", "none: holders of a link"
        case _:
            needs, roles = f"nothing: {access.reason}", "all"
    told = "" if audit is None else ", ".join(f"`{one}`" for one in audit.actions) or f"nothing: {audit.reason}"
    return f"| `{route.method} {route.path}` | {needs} | {roles} | {told} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    rows = sorted(create_app().state.route_table, key=lambda one: (one.path, one.method))
    page = HEAD + "\n".join(map(row, rows)) + "\n"
    if not parser.parse_args().check:
        PAGE.write_text(page)
        print(f"wrote {PAGE.name}")
    elif not PAGE.exists() or PAGE.read_text() != page:
        sys.exit("docs/permissions.md differs from the route table: run `make gen`")


if __name__ == "__main__":
    main()

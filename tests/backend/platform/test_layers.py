"""Import rules that import-linter's contracts cannot express."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jitterscope

PACKAGE = Path(jitterscope.__file__).parent
# Not domains: composition, and what runs the product rather than being part of it.
OUTSIDE = {"devstack", "schema", "kit"}
PRIVATE = re.compile(r"^(models|store|endpoints.*|tasks|cli|_.*)$")
SCENARIOS = "jitterscope.diagnosis.scenarios"
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
            if any(PRIVATE.match(part) for part in target[2:]):
                wrong.append(f"{'/'.join(parts)} imports {name}")
    assert wrong == []
    assert seen > 50


def test_the_rules_name_what_there_is() -> None:
    """A rule about a name that no longer exists forbids nothing."""
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders >= OUTSIDE
    names = {path.stem for path in PACKAGE.rglob("*.py")}
    assert all(any(re.fullmatch(part, name) for name in names) for part in PRIVATE.pattern[2:-2].split("|"))


def test_the_service_does_not_import_scenarios() -> None:
    """The image leaves them out."""
    wrong = [
        f"{file.relative_to(PACKAGE)} imports {name}"
        for file in PACKAGE.rglob("*.py")
        if "scenarios" not in file.parts
        for name in imports(file)
        if name.startswith(SCENARIOS)
    ]
    assert wrong == []


def test_layers_leave_no_module_unchecked() -> None:
    contracts = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [one for one in contracts if one["type"] == "layers"]
    assert len(layers) >= 2
    assert all(one.get("exhaustive") for one in layers)


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

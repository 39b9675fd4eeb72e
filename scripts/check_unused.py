"""Fails if a function, method, class, or property of the backend is unused, by the code and by tests."""

from __future__ import annotations

import sys
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("backend/jitterscope", "backend/labs", "scripts", "migrations", "tests")
# Generated.
LEFT_OUT = ["*/pb/*", "*/catalogue.py"]
# Functions registered by a decorator are called by what they are registered with.
REGISTERED = [
    "@router.*", "@app.*", "@root.*", "@worker.*", "@signals.*", "@*periodic*", "@*_validator*", "@field_serializer*",
    "@event.*", "@register_*", "@pytest.*", "@hookimpl*", "@*.connect*",
]  # fmt: skip
# Called by the standard library or by pytest under these names.
CALLED_BY_NAME = ["do_GET", "do_POST", "do_PUT", "log_message", "pytest_*", "pytestmark", "test_*", "Test*"]


def main() -> int:
    found = Vulture(ignore_decorators=REGISTERED, ignore_names=CALLED_BY_NAME)
    found.scavenge([str(ROOT / source) for source in SOURCES], exclude=LEFT_OUT)
    unused = [
        item
        for item in found.get_unused_code(min_confidence=60)
        # Fields of schemas and rows look unused if only JSON or SQL reads them.
        if item.typ in ("function", "method", "class", "property") and "tests" not in Path(item.filename).parts
    ]
    for item in unused:
        name = Path(item.filename).relative_to(ROOT)
        sys.stderr.write(f"{name}:{item.first_lineno}: {item.typ} {item.name} is unused\n")
    return 1 if unused else 0


if __name__ == "__main__":
    sys.exit(main())

"""Warns about source files with more than 300 lines, fails above 500: one idea per file; generated files are exempt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WARN, LIMIT = 300, 500
SUFFIXES = {".py", ".go", ".ts", ".tsx", ".css", ".c", ".h", ".sh", ".sql", ".mjs", ".js"}


def generated(path: Path, lines: list[str]) -> bool:
    """Whether a tool wrote it, according to its name or its first lines."""
    if ".gen." in path.name or path.name.endswith(("_pb2.py", ".pb.go")) or path.name == "vmlinux.h":
        return True
    return any("do not edit" in line.lower() for line in lines[:5])


def main() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    long: list[str] = []
    too_long: list[str] = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        lines = path.read_text(errors="replace").splitlines()
        if len(lines) > WARN and not generated(path, lines):
            (too_long if len(lines) > LIMIT else long).append(f"{name}: {len(lines)} lines")
    for what, found in ((f"warning: more than {WARN} lines", long), (f"error: more than {LIMIT} lines", too_long)):
        for one in found:
            print(f"{one} ({what})", file=sys.stderr)
    sys.exit(1 if too_long else 0)


if __name__ == "__main__":
    main()

"""Fails where a source file has more than 300 lines: one idea a file. Generated files are excepted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 300
SUFFIXES = {".py", ".go", ".ts", ".tsx", ".css", ".c", ".h", ".sh", ".sql", ".mjs", ".js"}


def generated(path: Path, lines: list[str]) -> bool:
    """Whether a tool wrote it: its name or its first lines say so."""
    if ".gen." in path.name or path.name.endswith(("_pb2.py", ".pb.go")) or path.name == "vmlinux.h":
        return True
    return any("do not edit" in line.lower() for line in lines[:5])


def main() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    too_long = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        lines = path.read_text(errors="replace").splitlines()
        if len(lines) > LIMIT and not generated(path, lines):
            too_long.append(f"{name}: {len(lines)} lines, at most {LIMIT}")
    print("\n".join(too_long), file=sys.stderr)
    sys.exit(1 if too_long else 0)


if __name__ == "__main__":
    main()

"""Exports contracts/openapi.json from the API and generates the TypeScript schema from it; `--check` only compares."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from jitterscope.main import create_app

ROOT = Path(__file__).resolve().parents[1]
OPENAPI = ROOT / "contracts" / "openapi.json"
TYPESCRIPT = ROOT / "frontend" / "src" / "api" / "schema.gen.ts"


def typescript(document: str) -> str | None:
    """The generated types; None if the frontend's packages are not installed."""
    tool = ROOT / "frontend" / "node_modules" / ".bin" / "openapi-typescript"
    if not tool.exists() or shutil.which("node") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "openapi.json", Path(folder) / "schema.ts"
        source.write_text(document)
        subprocess.run([str(tool), str(source), "-o", str(target)], check=True, stdout=subprocess.DEVNULL)
        return target.read_text()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file differs")
    check = parser.parse_args().check
    document = json.dumps(create_app().openapi(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    files = {OPENAPI: document}
    types = typescript(document)
    if types is None:
        print("frontend/node_modules is missing: the TypeScript schema was not generated (make build)", file=sys.stderr)
    else:
        files[TYPESCRIPT] = types
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        name = path.relative_to(ROOT)
        if check:
            print(f"differs from the API: {name} (run `make gen`)", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path])
            print(f"wrote {name}")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()

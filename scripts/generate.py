"""Runs all gen_*.py in one process, with its own options: they import the same large modules."""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path


def main() -> int:
    warnings.simplefilter("ignore")
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here))
    failed = 0
    # The contracts first: what the others import is generated from them.
    for script in sorted(here.glob("gen_*.py"), key=lambda script: (script.stem != "gen_contracts", script.stem)):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as ended:
            failed |= bool(ended.code)
    return failed


if __name__ == "__main__":
    sys.exit(main())

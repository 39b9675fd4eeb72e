# ruff: noqa: T201
"""make bench-fixes: one fix of each cause, applied several times during its fault: do the verdicts agree?

Each run is a separate program, `jitterscope lab LAB --variant VARIANT --apply FIX --json`, one after another: five
hours for three runs of all. Runs already in `--to` are not repeated, so it can be stopped and resumed. `--table` only
prints what is in `--to`. Causes, fixes, and the expected verdicts are those of tests/labs/test_applying.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.labs.test_applying import TRIES

LONGEST_S = 900
RUNS = Path(__file__).resolve().parents[2] / ".run" / "bench-fixes.jsonl"


@dataclass(frozen=True, slots=True)
class Try:
    """One fix on one variant of a lab, and its expected verdict."""

    lab: str
    variant: str
    given: dict[str, Any]
    fix: str
    verdict: str

    @property
    def name(self) -> str:
        return f"{self.lab} {self.variant} {self.fix}"

    def command(self) -> list[str]:
        given = [f"--{name.replace('_', '-')}={value}" for name, value in self.given.items()]
        return ["jitterscope", "lab", self.lab, "--variant", self.variant, *given, "--apply", self.fix, "--json"]


def tries() -> list[Try]:
    found = []
    for one in TRIES:
        lab, variant, given, fix, _, verdict = one.values
        found.append(Try(lab, variant, given, fix, verdict))
    return found


def run(one: Try, log: Path) -> dict[str, Any]:
    """What the lab printed, or `error`; with the machine's load before it."""
    load, began = Path("/proc/loadavg").read_text().split()[0], time.monotonic()
    with log.open("a") as said:
        said.write(f"\n{' '.join(one.command())}\n")
        said.flush()
        done = subprocess.run(
            one.command(), stdout=subprocess.PIPE, stderr=said, text=True, timeout=LONGEST_S, check=False
        )
    result: dict[str, Any] = {"try": one.name, "load": float(load), "took_s": round(time.monotonic() - began)}
    if done.returncode:
        return {**result, "error": log.read_text().strip().splitlines()[-1]}
    return {**result, "result": json.loads(done.stdout.strip().splitlines()[-1])}


def table(runs: list[dict[str, Any]]) -> str:
    """Markdown: a row for each fix, with the figure that decides."""
    rows = ["| lab, variant, fix | figure | predicted | before → after | verdicts |", f"|{' --- |' * 5}"]
    for name in dict.fromkeys(one["try"] for one in runs):
        own = [one for one in runs if one["try"] == name]
        judged = [one["result"] for one in own if "result" in one]
        verdicts = [one["result"]["verdict"] or "none" if "result" in one else "no run" for one in own]
        figure, predicted, measured = "", "", ""
        if judged:
            last = judged[-1]
            shown = next((key for key, value in last["measured"].items() if value["decides"]), None)
            if shown is not None:
                figure = f"{last['measured'][shown]['title']} ({last['measured'][shown]['unit']})"
                low_high = [one["predicted"].get(shown) for one in judged]
                predicted = ", ".join("none" if one is None else f"{one[0]:.3g} to {one[2]:.3g}" for one in low_high)
                sides = [one["measured"].get(shown, {}) for one in judged]
                measured = ", ".join(f"{_short(one.get('before'))} → {_short(one.get('after'))}" for one in sides)
        rows.append(f"| {name} | {figure} | {predicted} | {measured} | {', '.join(verdicts)} |")
    return "\n".join(rows)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="runs of each fix")
    parser.add_argument("--match", default="", help="only those with this in `lab variant fix`")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no more runs after this time")
    parser.add_argument("--to", type=Path, default=RUNS, help="one line of JSON for each run")
    parser.add_argument("--table", action="store_true", help="run nothing")
    options = parser.parse_args()
    options.to.parent.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in options.to.read_text().splitlines()] if options.to.exists() else []
    began = time.monotonic()
    chosen = [one for one in tries() if options.match in one.name]
    for number in range(0 if options.table else options.runs):
        for one in chosen:
            is_late = time.monotonic() - began > options.seconds
            if is_late or sum(past["try"] == one.name for past in kept) > number:
                continue
            done = run(one, options.to.with_suffix(".log"))
            kept.append(done)
            with options.to.open("a") as file:
                file.write(json.dumps(done) + "\n")
            verdict = done["result"]["verdict"] if "result" in done else done["error"]
            print(f"{one.name}: {verdict}, expected {one.verdict}, {done['took_s']} s, load {done['load']}", flush=True)
    print(table(kept))


if __name__ == "__main__":
    main()

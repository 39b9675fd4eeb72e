# ruff: noqa: T201
"""make bench-diagnosis: CPU time of the worker for each diagnosis, over all recordings, split into its parts.

Each recording is stored in a real database as a collector sends it, a batch every 2 s, and its subject is diagnosed
every `--every` seconds of data, as the schedule does with a troubled subject. CPU time is of this process alone; the
database's is in another column.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import SecretStr
from sqlalchemy import text

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope import db, worker
from jitterscope.devstack.postgres import PostgresServer
from jitterscope.devstack.valkey import ValkeyServer
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents.scheduling import diagnoses, snapshots
from jitterscope.ingest.service import store
from jitterscope.ingest.validation import validate
from jitterscope.kit.secretbox import new_key
from jitterscope.logs import configure_logging
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from jitterscope.recordings.replay import SLICE_US, prepare
from jitterscope.schema import bootstrap, runner
from jitterscope.series.types import TICK_US
from jitterscope.settings import Settings, override_settings
from jitterscope.tenancy import founding

RECORDINGS = Path(__file__).resolve().parents[1] / "fixtures" / "recordings"
PARTS = ("reading", "engine", "fixes", "applying")


@dataclass
class Cost:
    """CPU milliseconds of one diagnosis, and of its parts."""

    total: float = 0.0
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))


class Meter:
    """Measures what runs inside `meter.one()`: the parts are functions of the module that orders them."""

    def __init__(self) -> None:
        self._now: Cost | None = None
        self.costs: list[Cost] = []
        for owner, name, part in (
            (snapshots, "load", "reading"),
            (diagnoses, "detect", "engine"),
            (diagnoses, "with_fixes", "fixes"),
            (diagnoses, "apply_diagnosis", "applying"),
        ):
            setattr(owner, name, self._timed(getattr(owner, name), part))

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                if self._now is not None:
                    spent = (time.process_time() - began) * 1000
                    self._now.parts[part] += spent
                    if part == "fixes":  # they are proposed while a finding is applied
                        self._now.parts["applying"] -= spent

        return timed

    @contextmanager
    def one(self) -> Iterator[None]:
        self._now, began = Cost(), time.process_time()
        yield
        self._now.total = (time.process_time() - began) * 1000
        self.costs.append(self._now)
        self._now = None


def backend_pid_cpu_ms(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 10.0


def database_ms(postgres: PostgresServer) -> float:
    """CPU of the server's processes of all connections, including ended ones."""
    pid = int((postgres.pgdata / "postmaster.pid").read_text().split()[0])
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    total = sum(map(int, fields[11:15])) * 10.0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        try:
            total += backend_pid_cpu_ms(int(child))
        except OSError:
            continue
    return total


def play(
    recording: Recording, organization_id: int, suffix: str, every_us: int, rounds: int, look: Callable[[int], None]
) -> None:
    """Store a recording batch by batch, `rounds` times in a row, and diagnose its subject every `every_us` of data."""
    length_us = recording.end_us - recording.start_us
    first_us = time.time_ns() // 1000 - recording.start_us - rounds * length_us
    subject = recording.resources[recording.subject]
    subject_id, passed_us = None, 0
    for number in range(rounds):
        shift_us = first_us - first_us % TICK_US + number * length_us
        for batch in prepare(recording, shift_us, suffix):
            store(organization_id, validate(batch, time.time_ns() // 1000, 0))
            if subject_id is None:
                key = subject.key + (suffix if subject.kind == "node" else "")
                with db.organization_session(organization_id) as session:
                    found = text("SELECT max(id) FROM resources WHERE kind = :kind AND key = :key")
                    subject_id = int(session.execute(found, {"kind": subject.kind, "key": key}).scalar_one())
            passed_us += SLICE_US
            if passed_us % every_us == 0:
                look(subject_id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=float, default=10.0, help="seconds of data between two diagnoses")
    parser.add_argument("--rounds", type=int, default=3, help="each recording so many times in a row: windows are full")
    parser.add_argument("--only", default="", help="recordings whose name holds this")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--profile", type=int, default=0, help="print this many functions by their own time")
    arguments = parser.parse_args()
    profiler = cProfile.Profile(time.process_time) if arguments.profile else None
    rows: dict[str, list[Cost]] = {}
    database: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="jitterscope-bench-") as folder, ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer(Path(folder) / "postgres", durable=False))
        valkey = stack.enter_context(ValkeyServer(Path(folder) / "valkey"))
        owner_url, app_url = bootstrap.bootstrap(
            postgres.url(), "jitterscope", secrets.token_urlsafe(12), secrets.token_urlsafe(12)
        )
        runner.migrate(owner_url)
        made = founding.found_organization(owner_url, "Bench", "bench@localhost", secrets.token_urlsafe(12))
        settings = Settings(
            database_url=SecretStr(app_url), owner_database_url=SecretStr(owner_url), valkey_url=valkey.url,
            secret_key=SecretStr(new_key()), log_level="WARNING",
        )  # fmt: skip
        stack.enter_context(override_settings(settings))
        worker.app.conf.broker_url = valkey.url
        configure_logging()
        all_causes()  # as the worker does at its start
        meter = Meter()
        spent = 0.0

        def look(subject_id: int) -> None:
            nonlocal spent
            before = database_ms(postgres)
            with meter.one():
                if profiler is not None:
                    profiler.enable()
                diagnoses.diagnose_subject(made.organization_id, subject_id)
                if profiler is not None:
                    profiler.disable()
            spent += database_ms(postgres) - before

        columns = "".join(f"{name:>10}" for name in (*PARTS, "database"))
        print(f"{'recording':<42}{'n':>4}{'p50':>8}{'p95':>8}{'max':>8}   of p50:{columns}")
        for path in sorted(RECORDINGS.glob("*.jitterscope")):
            if arguments.only not in path.stem:
                continue
            meter.costs, spent = [], 0.0
            play(
                file.load(path),
                made.organization_id,
                f"-{path.stem}",
                int(arguments.every * 1e6),
                arguments.rounds,
                look,
            )
            rows[path.stem], database[path.stem] = meter.costs, spent / max(1, len(meter.costs))
            _print(path.stem, meter.costs, database[path.stem])
        every = [cost for costs in rows.values() for cost in costs]
        _print("all", every, float(np.mean(list(database.values()))))
    if profiler is not None:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(arguments.profile)
        pstats.Stats(profiler).sort_stats("cumtime").print_stats(arguments.profile)
    if arguments.json:
        figures = {name: [{"total_ms": cost.total, **cost.parts} for cost in costs] for name, costs in rows.items()}
        arguments.json.write_text(json.dumps(figures))


def _print(name: str, costs: list[Cost], database: float) -> None:
    if not costs:
        return
    totals = np.array([cost.total for cost in costs])
    parts = "".join(f"{np.median([cost.parts[part] for cost in costs]):>10.1f}" for part in PARTS)
    p50, p95 = np.percentile(totals, (50, 95))
    print(
        f"{name:<42}{len(costs):>4}{p50:>8.1f}{p95:>8.1f}{totals.max():>8.1f}           {parts}{database:>10.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()

# ruff: noqa: T201
"""make bench-ingest: Jitterscope and VictoriaMetrics with the same data, batch shape, machine, and run."""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.series import compaction, tasks
from tests.bench.ingest_parts import product, victoria
from tests.bench.ingest_parts.workload import TICK_US, Workload, cgroup_key

NATIVE, INGEST = "/api/v1/import/native", "/api/v1/ingest"


@dataclass
class Row:
    """One line of the table: Jitterscope's figure, VictoriaMetrics', and the ratio that the target refers to."""

    name: str
    ours: float
    theirs: float
    unit: str
    target: str
    ok: bool
    ratio: float = field(init=False)

    def __post_init__(self) -> None:
        self.ratio = self.ours / self.theirs if self.theirs else float("nan")


def post_all(port: int, path: str, bodies: list[bytes], senders: int, headers: dict[str, str]) -> float:
    """Seconds until every body was acknowledged, over `senders` concurrent connections."""
    shares = [bodies[number::senders] for number in range(senders)]

    def send(share: list[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        for body in share:
            connection.request("POST", path, body=body, headers=headers)
            response = connection.getresponse()
            answer = response.read()
            if response.status >= 300:
                raise SystemExit(f"{path} answered {response.status}: {answer[:500]!r}")
        connection.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(senders) as pool:
        list(pool.map(send, shares))
    return time.perf_counter() - started


def measure_ingest(arguments: argparse.Namespace, folder: Path, per_batch: int) -> list[Row]:
    """Ingest and bytes at one batch shape. Rounds alternate, so that both see the same machine noise."""
    cgroups, ticks = (arguments.cgroups, arguments.ticks)
    start_us = time.time_ns() // 1000 // compaction.WINDOW_US * compaction.WINDOW_US - 3 * compaction.WINDOW_US
    workload = Workload(cgroups, ticks, start_us)
    print(
        f"# {per_batch} samples a series: {workload.series} series, {workload.samples / 1e6:.1f} M samples", flush=True
    )
    values = workload.values()
    theirs, ours = victoria.bodies(workload, values, per_batch), product.bodies(workload, values, per_batch)
    speed: dict[str, list[float]] = {"ours": [], "theirs": []}
    with victoria.Victoria(folder / f"vm-{per_batch}") as vm, product.Product(folder / f"js-{per_batch}") as js:
        ours_headers = {"Authorization": f"Bearer {js.ingest_token}"}
        rounds = min(arguments.rounds, len(ours))
        for number in range(rounds):
            part = slice(number * len(ours) // rounds, (number + 1) * len(ours) // rounds)
            share = len(ours[part]) / len(ours) * workload.samples
            speed["theirs"].append(share / post_all(vm.port, NATIVE, theirs[part], arguments.senders, {}))
            speed["ours"].append(share / post_all(js.port, INGEST, ours[part], arguments.senders, ours_headers))
        expect("samples in VictoriaMetrics", _settled_count(vm, workload), workload.samples)
        expect("samples in Jitterscope", js.stored_samples(), workload.samples)
        fresh = js.size_bytes() / workload.samples
        vm.settle()
        theirs_bytes = vm.size_bytes() / workload.samples
        started = time.perf_counter()
        compaction.compact(js.organization_id, time.time_ns() // 1000)
        seconds = time.perf_counter() - started
        js.reclaim()
        compacted = js.size_bytes() / workload.samples
    fast, slow = statistics.median(speed["ours"]), statistics.median(speed["theirs"])
    print(
        f"# wire: ours {sum(map(len, ours)) / workload.samples:.2f} B/sample, theirs "
        f"{sum(map(len, theirs)) / workload.samples:.2f}; compaction {workload.samples / seconds / 1e6:.1f} M samples/s"
    )
    return [
        Row(f"ingest, {per_batch} a series", fast / 1e6, slow / 1e6, "M samples/s", ">= 1", fast >= slow),
        Row(f"stored, {per_batch} a series, fresh", fresh, theirs_bytes, "B/sample", "", True),
        Row(
            f"stored, {per_batch} a series, compacted",
            compacted,
            theirs_bytes,
            "B/sample",
            "<= 2",
            compacted <= 2 * theirs_bytes,
        ),
    ]


def _settled_count(vm: victoria.Victoria, workload: Workload) -> int:
    vm.get("/internal/force_flush")
    return vm.count(workload)


def measure_read(arguments: argparse.Namespace, folder: Path) -> list[Row]:
    """A day of one series among others, reduced to 2,000 points."""
    ticks = int(arguments.hours * 36_000)
    end_us = time.time_ns() // 1000 // compaction.WINDOW_US * compaction.WINDOW_US - compaction.WINDOW_US
    workload = Workload(4, ticks, end_us - ticks * TICK_US)
    values = workload.values()
    with victoria.Victoria(folder / "vm-read") as vm, product.Product(folder / "js-read") as js:
        post_all(vm.port, NATIVE, victoria.bodies(workload, values, 3000), 1, {})
        headers = {"Authorization": f"Bearer {js.ingest_token}"}
        post_all(js.port, INGEST, product.bodies(workload, values, 3000), 1, headers)
        expect("samples in VictoriaMetrics", _settled_count(vm, workload), workload.samples)
        expect("samples in Jitterscope", js.stored_samples(), workload.samples)
        vm.settle()
        compaction.compact(js.organization_id, time.time_ns() // 1000)
        tasks.merge_closed(js.organization_id, time.time_ns() // 1000, back_us=ticks * TICK_US * 2)
        # The busiest cgroup: the most work to decode.
        cgroup = int(values["cpu_usage_us"].mean(axis=1).argmax())
        resource = _resource(js, cgroup)
        points = 2000
        step_s = ticks * TICK_US / 1e6 / points

        step = f"{round(step_s * 1000)}ms"
        selector = f'cpu_usage_us{{cgroup="{cgroup_key(cgroup)}"}}'

        def theirs() -> bytes:
            return vm.get(
                "/api/v1/query_range", query=f"max_over_time({selector}[{step}])",
                start=workload.start_us / 1e6, end=end_us / 1e6, step=step, nocache=1,
            )  # fmt: skip

        def ours() -> bytes:
            return js.get(
                "/api/v1/series/query", resource=resource, metric="cpu_usage_us", points=points, mean="false",
                to=iso(end_us), **{"from": iso(workload.start_us)},
            )  # fmt: skip

        _check_answers(json.loads(ours()), json.loads(theirs()), values["cpu_usage_us"][cgroup])
        ours_ms, theirs_ms = _alternate(ours, theirs, arguments.repeats)
    name = f"read {arguments.hours:g} h of 100 ms to {points} points"
    return [Row(name, ours_ms, theirs_ms, "ms, median", "<= 1", ours_ms <= theirs_ms)]


def _check_answers(ours: dict[str, Any], theirs: dict[str, Any], ticks: Iterable[float]) -> None:
    """Both must have found the day's highest tick, and about as many points as requested."""
    highest = float(max(ticks))
    (chart,) = ours["series"]
    expect("our highest point", max(value for value in chart["high"] if value is not None), highest)
    points = theirs["data"]["result"][0]["values"]
    expect("their highest point", max(float(value) for _, value in points), highest)
    if not (1800 <= len(chart["t_us"]) <= 2001 and 1900 <= len(points) <= 2001):
        raise SystemExit(f"{len(chart['t_us'])} points of ours, {len(points)} of theirs")


def _alternate(ours: Callable[[], bytes], theirs: Callable[[], bytes], repeats: int) -> tuple[float, float]:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for call, kept in zip((ours, theirs), times, strict=True):
            started = time.perf_counter()
            call()
            kept.append((time.perf_counter() - started) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


def _resource(js: product.Product, cgroup: int) -> int:
    found = json.loads(js.get("/api/v1/resources", search=cgroup_key(cgroup)))
    return int(found["items"][0]["id"])


def iso(at_us: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_us / 1e6))


def expect(what: str, found: float, wanted: float) -> None:
    """A benchmark of wrong data is worthless."""
    if found != wanted:
        raise SystemExit(f"{what}: {found} instead of {wanted}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cgroups", type=int, default=400, help="15 series each")
    parser.add_argument("--ticks", type=int, default=6000, help="per series, a multiple of 600")
    parser.add_argument("--shapes", type=int, nargs="*", default=[20, 600], help="samples a series in a request")
    parser.add_argument("--senders", type=int, default=2, help="connections at once")
    parser.add_argument("--rounds", type=int, default=5, help="alternations between the two")
    parser.add_argument("--hours", type=float, default=24, help="length of the series that is read; 0: no read")
    parser.add_argument("--repeats", type=int, default=25, help="reads of each")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="jitterscope-bench-") as folder:
        for shape in arguments.shapes:
            rows += measure_ingest(arguments, Path(folder), shape)
        if arguments.hours:
            rows += measure_read(arguments, Path(folder))
    print(f"{'':40} {'Jitterscope':>12} {'VictoriaM.':>12} {'ratio':>7}  unit (target of the ratio)")
    for row in rows:
        verdict = "" if not row.target else ("  ok" if row.ok else "  MISSED")
        print(f"{row.name:40} {row.ours:12.3f} {row.theirs:12.3f} {row.ratio:7.2f}  {row.unit} {row.target}{verdict}")
    print(json.dumps({"rows": [vars(row) for row in rows]}))
    sys.exit(0 if all(row.ok for row in rows) else 1)


if __name__ == "__main__":
    main()

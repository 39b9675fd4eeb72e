"""A DNS load test as a report: latency and loss by rate, one curve per target."""

from __future__ import annotations

from collections.abc import Callable

from jitterscope.analyses.report import Chart, Fact, Line, Report, Table
from jitterscope.analyses.schemas import BenchResult, BenchRun
from jitterscope.analyses.wording import duration, plural

KIND = "dns_bench"
TITLE = "DNS load test"
# A rate is sustained if at most this share of queries is lost or fails, and almost all requested ones were sent.
_LOSS_RATIO = 0.01
_SENT_RATIO = 0.95


def report_of(result: BenchResult) -> Report:
    """Charts over the rate, the highest rate that each target sustained, and one row per run."""
    rates = sorted({run.rate_qps for run in result.runs})
    charts = [
        _chart(result, rates, "p50", "Median latency", "us", lambda run: run.p50_us),
        _chart(result, rates, "p99", "p99 latency", "us", lambda run: run.p99_us),
        _chart(result, rates, "loss", "Failed queries", "%", lambda run: 100 * failed_ratio(run)),
    ]
    targets = ", ".join(f"{target.name} ({target.address}:{target.port})" for target in result.targets)
    facts = [
        Fact(
            id="load",
            label="Load",
            value=f"{rates[0]:g} to {rates[-1]:g} queries/s" if len(rates) > 1 else f"{rates[0]:g} queries/s",
            detail=f"{targets}; {plural(result.names, 'name')}, lost after {result.timeout_ms:g} ms, "
            f"sent by {result.sender}.",
        )
    ]
    facts += [
        _kept_up(target.name, [run for run in result.runs if run.target == target.name]) for target in result.targets
    ]
    notes = []
    if any(run.sent < _SENT_RATIO * run.rate_qps * run.seconds for run in result.runs):
        notes.append("Some runs sent fewer queries than requested: the sender, not the server, was at its limit.")
    return Report(
        kind=KIND,
        title=TITLE,
        summary=f"{plural(len(result.runs), 'run')} against {plural(len(result.targets), 'target')}: "
        + "; ".join(f"{fact.label} {fact.value}" for fact in facts[1:]),
        from_us=result.started_us,
        to_us=result.started_us + round(sum(run.seconds for run in result.runs) * 1e6),
        facts=facts,
        charts=charts,
        tables=[_table(result)],
        notes=notes,
    )


def failed_ratio(run: BenchRun) -> float:
    """Lost queries and SERVFAIL answers among those sent, 0..1."""
    return min(1.0, (run.lost + run.servfail) / run.sent) if run.sent else 0.0


def _chart(
    result: BenchResult, rates: list[float], id: str, title: str, unit: str, of: Callable[[BenchRun], float | None]
) -> Chart:
    lines = []
    for target in result.targets:
        # Of two runs at one rate, the worse one is shown.
        values: dict[float, float] = {}
        for run in result.runs:
            value = of(run) if run.target == target.name and run.sent else None
            if value is not None:
                values[run.rate_qps] = max(value, values.get(run.rate_qps, value))
        lines.append(Line(name=target.name, values=[values.get(rate) for rate in rates]))
    return Chart(id=id, title=title, x_unit="queries/s", unit=unit, x=rates, lines=lines)


def _kept_up(name: str, runs: list[BenchRun]) -> Fact:
    best = 0.0
    first_bad: BenchRun | None = None
    for run in sorted(runs, key=lambda run: run.rate_qps):
        if failed_ratio(run) > _LOSS_RATIO:
            first_bad = run
            break
        best = max(best, run.rate_qps)
    slowest = max((run.p99_us or 0.0 for run in runs if run.rate_qps <= best), default=0.0)
    value = f"keeps up with {best:g} queries/s" if best else "keeps up with no tested rate"
    if first_bad is not None:
        value += f", fails {100 * failed_ratio(first_bad):.3g} % at {first_bad.rate_qps:g}"
    return Fact(
        id=f"target_{name}",
        label=name,
        value=value,
        level="info" if first_bad is None else "attention",
        detail=f"p99 {duration(slowest)} up to that rate." if best else None,
        numbers={"kept_up_qps": best} | ({} if first_bad is None else {"failed_from_qps": first_bad.rate_qps}),
    )


def _table(result: BenchResult) -> Table:
    def ms(us: float | None) -> float | None:
        return None if us is None else round(us / 1000, 3)

    rows: list[list[str | float | None]] = [
        [
            run.target, run.rate_qps, float(run.sent), float(run.answered), float(run.lost), float(run.servfail),
            float(run.nxdomain), ms(run.p50_us), ms(run.p99_us), ms(run.max_us),
        ]
        for run in result.runs
    ]  # fmt: skip
    columns = [
        "target", "queries/s", "sent", "answered", "lost", "SERVFAIL", "NXDOMAIN", "median (ms)", "p99 (ms)",
        "slowest (ms)",
    ]  # fmt: skip
    return Table(id="runs", title="Runs", columns=columns, rows=rows)

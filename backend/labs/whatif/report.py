"""What `--whatif` prints: human-readable tables and, as its last line, one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from labs.variants import Parameters
from labs.whatif.judge import METRICS, Cell, Order, inside_ratio, median_error

_LABELS = {
    "throttled_ms_per_min": ("throttled ms/min", 1.0, "{:,.0f}"),
    "throttled_ratio": ("throttled periods %", 100.0, "{:.2f}"),
    "slow_ratio": ("queries > 20 ms %", 100.0, "{:.2f}"),
    "p99_ms": ("p99 ms", 1.0, "{:.1f}"),
}


class SetReport(BaseModel):
    """One parameter set; `recorded` is the fault by the product's data, `measured` by the lab's own.

    `others_cpus`: CPUs that everything else on the machine used in each run, including clients and product. If it is
    higher in one run than in the others, that run's latencies also reflect the machine.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    parameters: dict[str, Any]
    recorded: dict[str, float | None]
    measured: dict[str, float | None]
    cells: list[Cell]
    order_predicted: list[str]
    order_outcome: list[str]
    order_pairs: int
    order_pairs_right: int
    order_right: bool
    others_cpus: dict[str, float]
    notes: dict[str, list[str]]


class WhatIfReport(BaseModel):
    """All sets.

    The medians are over fixes; `…_remaining_ratio` leave out those that were predicted to end the fault and did.
    """

    model_config = ConfigDict(extra="forbid")

    lab: str
    whatif: Literal[True] = True
    sets: list[SetReport]
    cells: int
    cells_judged: int
    inside_ratio: float | None
    median_error_throttled_ratio: float | None
    median_error_slow_ratio: float | None
    median_error_throttled_remaining_ratio: float | None
    median_error_slow_remaining_ratio: float | None
    order_right: bool


def set_report(
    name: str,
    parameters: Parameters,
    accounts: tuple[dict[str, float | None], dict[str, float | None]],
    cells: list[Cell],
    order: Order,
    others_cpus: dict[str, float],
    notes: dict[str, list[str]],
) -> SetReport:
    """The report of one set; `accounts`: the fault by the product's data, and by the lab's."""
    return SetReport(
        name=name,
        parameters=parameters.model_dump(),
        recorded=accounts[0],
        measured=accounts[1],
        cells=cells,
        order_predicted=order.predicted,
        order_outcome=order.outcome,
        order_pairs=order.pairs,
        order_pairs_right=order.pairs_right,
        order_right=order.right,
        others_cpus=others_cpus,
        notes=notes,
    )


def whole(lab: str, sets: Sequence[SetReport]) -> WhatIfReport:
    """The summary over all sets."""
    cells = [cell for one in sets for cell in one.cells]
    return WhatIfReport(
        lab=lab,
        sets=list(sets),
        cells=len(cells),
        cells_judged=sum(cell.judged for cell in cells),
        inside_ratio=inside_ratio(cells),
        median_error_throttled_ratio=median_error(cells, "throttled_ms_per_min"),
        median_error_slow_ratio=median_error(cells, "slow_ratio"),
        median_error_throttled_remaining_ratio=median_error(cells, "throttled_ms_per_min", only_remaining=True),
        median_error_slow_remaining_ratio=median_error(cells, "slow_ratio", only_remaining=True),
        order_right=all(one.order_right for one in sets),
    )


def describe(parameters: Parameters) -> str:
    """In one line: the limit, the heap, the rate, and what else was changed."""
    quota = "no limit" if (parameters.quota_us or -1) < 0 else f"{(parameters.quota_us or 0) / 1e3:g} ms"
    text = f"{quota} per {parameters.period_us / 1e3:g} ms, {parameters.records:,} names, {parameters.qps:g} queries/s"
    default, own = Parameters(), parameters.model_dump()
    shown = {"quota_us", "period_us", "records", "qps"}
    return text + "".join(
        f", {key} {own[key]}" for key, value in default.model_dump().items() if key not in shown and own[key] != value
    )


def table(one: SetReport) -> str:
    """One set: the fault, then each fix with prediction, interval, and outcome."""
    lines = [
        "",
        f"{one.name}: {describe(Parameters(**one.parameters))}",
        f"{'':12}{'':21}{'predicted':>10}{'90 % interval':>18}{'outcome':>10}{'inside':>8}{'error':>8}",
    ]
    for metric in METRICS:
        label, _, _ = _LABELS[metric]
        lead = "(fault)" if metric == METRICS[0] else ""
        recorded, measured = _show(metric, one.recorded[metric]), _show(metric, one.measured[metric])
        lines.append(f"{lead:12}{label:21}{'recorded':>10}{recorded:>18}{measured:>10}")
    variant = ""
    for cell in one.cells:
        lines.append(_row(cell, cell.variant if cell.variant != variant else ""))
        variant = cell.variant
    for fix, notes in one.notes.items():
        lines += [f"{fix}: {note}" for note in notes]
    verdict = "right" if one.order_right else "wrong"
    lines.append(f"order predicted: {' < '.join(one.order_predicted)}; in truth: {' < '.join(one.order_outcome)}")
    lines.append(f"order {verdict}: {one.order_pairs_right} of {one.order_pairs} pairs")
    busy = ", ".join(f"{name} {cpus:.2f}" for name, cpus in one.others_cpus.items())
    lines.append(f"CPUs used by everything else on this machine: {busy}")
    return "\n".join(lines)


def _row(cell: Cell, lead: str) -> str:
    interval = f"{_show(cell.metric, cell.low)} – {_show(cell.metric, cell.high)}"
    inside = "-" if cell.inside is None else "yes" if cell.inside else "NO"
    error = "-" if cell.error_ratio is None else f"{100 * cell.error_ratio:.0f} %"
    tail = "" if cell.judged else f"  not judged: {cell.why}"
    return (
        f"{lead:12}{_LABELS[cell.metric][0]:21}{_show(cell.metric, cell.predicted):>10}{interval:>18}"
        f"{_show(cell.metric, cell.outcome):>10}{inside:>8}{error:>8}{tail}"
    )


def summary(report: WhatIfReport) -> str:
    """The summary over all sets."""
    return "\n".join(
        [
            "",
            f"{report.cells_judged} of {report.cells} cells judged; the outcome lies in the 90 % interval in "
            f"{_percent(report.inside_ratio)} of them",
            f"median error of throttled time: {_percent(report.median_error_throttled_ratio)} "
            f"({_percent(report.median_error_throttled_remaining_ratio)} where the fix leaves something of the fault)",
            f"median error of the share over 20 ms: {_percent(report.median_error_slow_ratio)} "
            f"({_percent(report.median_error_slow_remaining_ratio)} where the fix leaves something of the fault)",
            f"order of the fixes: right in {sum(one.order_right for one in report.sets)} of {len(report.sets)} sets",
        ]
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _show(metric: str, value: float | None) -> str:
    if value is None:
        return "-"
    _, factor, form = _LABELS[metric]
    return form.format(value * factor)

"""What all labs query from the product after a run: its final verdict on the lab's cgroups, and a recording."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from labs.console import Say
from labs.figures import Figures, first_slow_us
from labs.limited import Measured, Stage
from labs.observed import missing_ticks_ratio
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident

# Unanswered queries are given up after 5 s; data arrive within a second.
_AFTERMATH_US = 6_000_000
# The product diagnoses a troubled cgroup again every 10 s, and plans visits as often.
_AGAIN_S = 10.0
_AT_REST_US = round(1.2 * _AGAIN_S * 1e6)
RECORD_LEAD_US = 5_000_000


@dataclass(frozen=True, slots=True)
class Said:
    """Incidents and risks of the lab's cgroups as the REST API returns them, in opening order."""

    incidents: list[dict[str, Any]]
    risks: list[dict[str, Any]]

    def urls(self, product: Product) -> list[str]:
        return [f"{product.url}/incidents/{one['id']}" for one in self.incidents]


def find_cgroups(product: Product, keys: Iterable[str]) -> list[int]:
    """The IDs of the lab's cgroups, once the product knows them all."""
    product.wait_for("a collector that delivers (one must run on this machine, as root)", product.receives, 30)
    return [product.wait_for(f"the cgroup {key}", partial(product.cgroup_id, key), 30) for key in keys]


def last_word(
    product: Product,
    subject_ids: Sequence[int],
    from_us: int,
    to_us: int,
    visited: int | None = None,
    node: str | None = None,
) -> Said:
    """The product's verdict once it has diagnosed the first `visited` (all) after the run. `from_us`: the run's start.

    By itself it diagnoses troubled cgroups, those with DNS servers, and nodes. For any other, no diagnosis has been
    planned by then for as long as it takes to plan one.
    The subjects are cgroups; with `node`, a metric of every tick, the first one is a node.
    """
    until_us = to_us + _AFTERMATH_US
    patience_s = _AFTERMATH_US / 1e6 + _AGAIN_S + 2 * product.scheduled_diagnosis_every_s
    at_rest_since_us = dict.fromkeys(subject_ids[:visited], to_us)
    while at_rest_since_us and now_us() < to_us + patience_s * 1e6:
        time.sleep(0.5)
        for one in list(at_rest_since_us):
            diagnosed_us, is_at_rest = product.diagnosed(one)
            if not is_at_rest:
                at_rest_since_us[one] = now_us()
            is_final = diagnosed_us >= until_us or now_us() - at_rest_since_us[one] > _AT_REST_US
            if is_final and now_us() > until_us:
                del at_rest_since_us[one]
    for index, subject_id in enumerate(subject_ids):
        product.wait_until_stored(subject_id, "cpu_usage_us" if node is None or index else node, from_us, to_us)
    incidents = {one["id"]: one for id_ in subject_ids for one in product.incidents(id_, from_us - RECORD_LEAD_US)}
    risks = {one["id"]: one for id_ in subject_ids for one in product.risks(id_)}
    return Said(
        sorted(incidents.values(), key=lambda one: (str(one["opened_at"]), int(one["id"]))),
        sorted(risks.values(), key=lambda one: (str(one["first_seen_at"]), int(one["id"]))),
    )


def labels(
    lab: str, variant: str, expected: str, parameters: BaseModel, measured: BaseModel, from_us: int
) -> dict[str, str]:
    """Labels of a recording that describe its run."""
    return {
        "lab": lab,
        "variant": variant,
        "expected": expected,
        "parameters": parameters.model_dump_json(),
        "measured": measured.model_dump_json(),
        "measured_from_us": str(from_us),
    }


def record(product: Product, cgroup_id: int, from_us: int, to_us: int, labels: Mapping[str, str], path: Path) -> None:
    """Record what the product stored of a run, with what the lab measured, in the format of `jitterscope record`."""
    whole = product.recording(cgroup_id, from_us - RECORD_LEAD_US, to_us)
    path.parent.mkdir(parents=True, exist_ok=True)
    file.save(replace(whole, labels=dict(labels)), path)


def say_why_not(cause: str, seen: Recording, say: Say) -> None:
    """Print the engine's diagnosis of the whole run, if the product did not report its cause."""
    told = diagnose(snapshot_of(seen))
    reasons = {one.cause: one.reason for one in told.not_found}
    reasons |= {one.cause: one.reason for one in told.not_enough_data}
    if cause in reasons:
        say(f"No incident of {cause}: {reasons[cause]}")
    for found in told.findings:
        say(f"The whole run is {found.cause} ({found.severity or 'no harm'}, {found.confidence}): {found.title}")


def now_us() -> int:
    """µs since the epoch."""
    return time.time_ns() // 1000


class Bench(Protocol):
    """A lab that is set up, before its load."""

    @property
    def stage(self) -> Stage:
        """The server in its cgroup."""

    @property
    def parameters(self) -> BaseModel:
        """The run's parameters, with nothing left open."""


FiguresT = TypeVar("FiguresT", bound=Figures)
FiguresT_co = TypeVar("FiguresT_co", bound=Figures, covariant=True)


class Run(Protocol[FiguresT_co]):
    """What happened, as measured by the lab itself."""

    @property
    def measured(self) -> Measured:
        """The window, and what every lab of a server measures."""

    @property
    def figures(self) -> FiguresT_co:
        """What this lab reports."""


VariantT = TypeVar("VariantT", bound=StrEnum)
ParametersT = TypeVar("ParametersT", bound=BaseModel)
BenchT = TypeVar("BenchT", bound=Bench)
RunT = TypeVar("RunT", bound=Run[Any])


def _own_cgroup(made: Bench) -> list[str]:
    return [made.stage.cgroup.key]


def _first_slow_us(done: Run[Any]) -> int | None:
    return first_slow_us(done.measured.load)


@dataclass(frozen=True, slots=True)
class Watch(Generic[VariantT, ParametersT, BenchT, RunT, FiguresT]):
    """A lab of one server in one cgroup, under a running product: what it does, and what it queries from the product.

    `observed`: the lab's figures from the product's data of the server with that key. `began_us`: when the trouble
    began, None if there was none. `cgroups`: those whose incidents and risks count, with the server's first.
    """

    lab: str
    bench: Callable[[ParametersT, Path, Say], AbstractContextManager[BenchT]]
    run: Callable[[BenchT, Say], RunT]
    expected_cause: Callable[[VariantT], str]
    observed: Callable[[Recording, str], FiguresT]
    began_us: Callable[[RunT], int | None] = _first_slow_us
    cgroups: Callable[[BenchT], list[str]] = _own_cgroup

    def __call__(
        self, product: Product, variant: VariantT, parameters: ParametersT, record_to: Path | None, say: Say
    ) -> Report[FiguresT]:
        """Run the lab and report both sets of figures. `record_to` keeps the product's data."""
        with (
            tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
            self.bench(parameters, Path(folder), say) as made,
        ):
            ids = find_cgroups(product, self.cgroups(made))
            done = self.run(made, say)
            from_us, to_us = done.measured.from_us, done.measured.to_us
            say("Waiting for the product's final verdict")
            said = last_word(product, ids, from_us, to_us)
            seen = product.recording(ids[0], from_us, to_us)
            missing_ratio = missing_ticks_ratio(seen, say)
            expected = self.expected_cause(variant)
            if expected not in ("none", *(one["cause"] for one in said.incidents)):
                say_why_not(expected, seen, say)
            if record_to is not None:
                about = labels(self.lab, variant.value, expected, made.parameters, done.figures, from_us)
                record(product, ids[0], from_us, to_us, about, record_to)
            return Report[FiguresT](
                lab=self.lab,
                variant=variant.value,
                parameters=made.parameters.model_dump(mode="json"),
                incidents=[line_of(one) for one in said.incidents],
                risks=[line_of(one) for one in said.risks],
                measured=done.figures,
                observed=self.observed(seen, made.stage.server.key),
                time_to_incident_s=seconds_to_incident(said.incidents, self.began_us(done)),
                incident_urls=said.urls(product),
                missing_ticks_ratio=missing_ratio,
            )

"""What all labs ask the product after a run: its last word on the lab's cgroups, and a recording."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from jitterscope.recordings import file
from labs.product import Product

# What is not answered is given up after 5 s; data come within a second.
_AFTERMATH_US = 6_000_000
# The product looks at a troubled cgroup again every 10 s.
_AGAIN_S = 10.0
RECORD_LEAD_US = 5_000_000


@dataclass(frozen=True, slots=True)
class Said:
    """Incidents and risks of the lab's cgroups as the REST interface gives them, the first opened first."""

    incidents: list[dict[str, Any]]
    risks: list[dict[str, Any]]

    def urls(self, product: Product) -> list[str]:
        return [f"{product.url}/incidents/{one['id']}" for one in self.incidents]


def find_cgroups(product: Product, keys: Iterable[str]) -> list[int]:
    """The ids of the lab's cgroups, once the product knows them all."""
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
    """What it says of them once it has looked at the first `visited` (all) after the run. `from_us`: its beginning.

    It looks at troubled cgroups, at those with DNS servers and at nodes by itself; at one that it does not look at it
    has had the time to. They are cgroups; with `node`, a metric of every tick, the first one is a node.
    """
    until_us = to_us + _AFTERMATH_US
    patience_s = _AFTERMATH_US / 1e6 + _AGAIN_S + 2 * product.scheduled_diagnosis_every_s
    waiting = list(subject_ids[:visited])
    while waiting and now_us() < to_us + patience_s * 1e6:
        time.sleep(max(0.5, (until_us - now_us()) / 1e6))
        waiting = [one for one in waiting if not product.has_diagnosed(one, until_us)]
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
    """What a recording says of the run that it is of."""
    return {
        "lab": lab,
        "variant": variant,
        "expected": expected,
        "parameters": parameters.model_dump_json(),
        "measured": measured.model_dump_json(),
        "measured_from_us": str(from_us),
    }


def record(product: Product, cgroup_id: int, from_us: int, to_us: int, labels: Mapping[str, str], path: Path) -> None:
    """Keep what the product stored of a run, with what the lab measured, in the format of `jitterscope record`."""
    whole = product.recording(cgroup_id, from_us - RECORD_LEAD_US, to_us)
    path.parent.mkdir(parents=True, exist_ok=True)
    file.save(replace(whole, labels=dict(labels)), path)


def now_us() -> int:
    """µs since the epoch."""
    return time.time_ns() // 1000

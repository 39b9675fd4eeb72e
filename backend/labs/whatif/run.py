"""All parameter sets of a `--whatif`, one after another, under one product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from labs.console import Say
from labs.product import Product
from labs.watched import LAB
from labs.whatif.report import SetReport, WhatIfReport, whole
from labs.whatif.sets import FIXES, ParameterSet, changed
from labs.whatif.trial import Pace, run_set


def run(
    product: Product,
    sets: Sequence[ParameterSet],
    record_to: Path | None,
    say: Say,
    show: Callable[[SetReport], None],
) -> WhatIfReport:
    """Run all sets; `show` gets each set as it ends, `record_to` is a folder for the product's data of every run."""
    product.wait_for("a collector that delivers (one must run on this machine, as root)", product.receives, 30)
    if record_to is not None:
        record_to.mkdir(parents=True, exist_ok=True)
    runs = [1 + sum(changed(one.parameters, fix) is not None for fix in FIXES) for one in sets]
    pace = Pace([one.parameters.seconds for one, count in zip(sets, runs, strict=True) for _ in range(count)])
    done: list[SetReport] = []
    for one in sets:
        done.append(run_set(product, one, pace, record_to, say))
        show(done[-1])
    return whole(LAB, done)

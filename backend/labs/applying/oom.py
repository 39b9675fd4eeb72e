"""The sustained faults of the coredns-oom lab, and the fixes that can be tried on them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jitterscope.diagnosis.verification.blocks import BLOCK_US
from labs import load, processes
from labs.applying.ongoing import Ongoing, ProposedFix, bound, number_in
from labs.console import Say
from labs.errors import LabError
from labs.load import Load
from labs.oom.bench import NAMES, READY, Bench, bench, readers
from labs.oom.figures import MIB
from labs.oom.variants import Parameters, Variant, expected_cause
from labs.oom.watched import LAB
from labs.pace import tick_after
from labs.rise import Rise

_SECONDS = 1_500.0
# Until the product watches the new cgroup.
_LEAD_S = 6.0
# Bursts follow one another. Each is long enough to kill the server, with time to restart and to be calm in between.
# Each block of the comparison contains one, so that all blocks have the same load wherever they begin.
EVERY_S = BLOCK_US / 1e6
_BURST_S = 0.7 * EVERY_S


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends: bursts that kill the server, or a constant load.

    A killed server is restarted immediately, as a kubelet would do.
    """
    with bench(parameters, folder, say) as made:
        burst_s = min(parameters.seconds, _BURST_S)
        steady = Rise.soon(parameters, NAMES, made.addresses, say).load
        shape = Load(
            parameters.calm_qps,
            burst_qps=parameters.qps,
            burst_ms=1e3 * burst_s,
            every_ms=1e3 * EVERY_S,
            names=NAMES,
            unique=True,
            clients=steady.clients,
            timeout_ms=steady.timeout_ms,
        )
        out, start_us = folder / "load.bin", tick_after(time.time() + _LEAD_S)
        driver = load.start(made.server, shape, _SECONDS, start_us, made.server.cgroup, made.clients, out)

        def goes_on() -> bool:
            if not made.upstream.is_running():
                raise LabError("The upstream exited under load.")
            if not made.server.is_running():
                made.server.start(READY)
            if driver.poll():
                load.finish(driver, out)
            return driver.returncode is None

        killed = not parameters.reclaims
        cause = expected_cause(variant, killed, parameters.reclaims)
        # If kills follow one another, several are needed before the fix; a leak takes time.
        before_s = _LEAD_S + {Variant.LEAK: 150.0, Variant.RECLAIM: 70.0}.get(variant, 100.0)
        try:
            with readers(made, start_us):
                yield Ongoing(
                    LAB, variant.value, cause, (made.server.cgroup.key,), goes_on, bound(FIXES, made), before_s=before_s
                )
        finally:
            processes.stop(driver)


def _max_concurrent(made: Bench, fix: ProposedFix) -> None:
    value = number_in(fix, r"max_concurrent (\d+)")
    corefile = made.folder / "coredns.Corefile"
    text = re.sub(r" *max_concurrent \d+\n", "", corefile.read_text())
    corefile.write_text(text.replace("        max_fails 0", f"        max_concurrent {value}\n        max_fails 0"))
    made.server.restart(READY)


def _less_kept(made: Bench, fix: ProposedFix) -> None:
    value = number_in(fix, r"success (\d+)")
    corefile = made.folder / "coredns.Corefile"
    corefile.write_text(re.sub(r"success \d+", f"success {value}", corefile.read_text()))
    made.server.restart(READY)


def _more_memory(made: Bench, fix: ProposedFix) -> None:
    made.server.cgroup.limit_memory(_bytes(fix))


def _gomemlimit(made: Bench, fix: ProposedFix) -> None:
    value = next((found[1] for patch in fix["patches"] if (found := _GOMEMLIMIT.search(patch["text"]))), None)
    if value is None:
        raise LabError(f"No patch of {fix['id']} has a value: {fix['patches']}")
    made.server.restart(READY, environment={**(made.server.environment or {}), "GOMEMLIMIT": value})


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {
    "max_concurrent": _max_concurrent,
    "raise_memory_limit": _more_memory,
    "gomemlimit": _gomemlimit,
    "cache_capacity": _less_kept,
}
_GOMEMLIMIT = re.compile(r"GOMEMLIMIT\W+(?:value:\W*)?(\d+(?:B|KiB|MiB|GiB))")


def _bytes(fix: ProposedFix) -> int:
    for patch in fix["patches"]:
        if found := re.search(r"(\d+)(Mi|Gi|M|G)\b", patch["text"]):
            return int(found[1]) * (MIB if found[2].startswith("M") else 1024 * MIB)
        if found := re.search(r"(\d{8,})", patch["text"]):
            return int(found[1])
    raise LabError(f"No patch of {fix['id']} has a number of bytes: {fix['patches']}")

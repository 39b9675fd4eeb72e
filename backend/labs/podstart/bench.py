"""Pods that start one after another on the lab's own node, and wait for the verifier or for something else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs.cgroups import LabRun
from labs.console import Say
from labs.figures import TICK_US
from labs.pace import tick_after
from labs.podstart.figures import PodFigures, Started, measured
from labs.podstart.node import Node
from labs.podstart.pages import KubeletPage
from labs.podstart.variants import Parameters, settle

_LEAST_S = 0.2  # of the phases that nothing slows
_SAMPLES, _SAMPLE = 5, 60_000


@dataclass(frozen=True, slots=True)
class Run:
    """What happened in [from_us, to_us), as measured by the lab itself. `parameters`: including chosen ones."""

    from_us: int
    to_us: int
    parameters: Parameters
    pods: tuple[Started, ...]
    figures: PodFigures


@contextmanager
def node(folder: Path, url: str, page: KubeletPage, say: Say) -> Iterator[Node]:
    """A node without pods; everything on it is removed afterwards."""
    with ExitStack() as stack:
        yield Node(LabRun.begin(say), stack, folder, url, page)


def calibrated(made: Node, parameters: Parameters, say: Say) -> Parameters:
    """Choose the open parameters from the verifier's time per instruction on this machine."""
    if parameters.wait_s is not None:
        return parameters
    # The minimum: whatever else runs now might stop at any moment.
    tried = made.load(_SAMPLES, _SAMPLE, parameters.branches)
    each_us = min(one.took_us / (one.verified or _SAMPLE) for one in tried)
    sections = parameters.sections
    verifier_s = sections * parameters.verified * each_us / 1e6
    say(f"The verifier takes {each_us:.2f} µs for an instruction here, so {verifier_s:.1f} s for {sections} programs")
    return settle(parameters, verifier_s, _LEAST_S)


def run(made: Node, parameters: Parameters, say: Say) -> Run:
    """Start all pods, one after another."""
    p = calibrated(made, parameters, say)
    programs = p.sections - p.unused
    say(f"{p.pods} pods: {programs} programs each, {p.image_s:g} s for the image, {p.wait_s or 0:g} s elsewhere")
    from_us, pods = tick_after(time.time()), []
    for number in range(p.pods):
        pods.append(made.start(number, p))
        say(f"Pod {number + 1} started in {pods[-1].start_s:.2f} s and {pods[-1].image_s:.2f} s for its image")
        time.sleep(p.gap_s)
    return Run(from_us, tick_after(time.time()) - TICK_US, p, tuple(pods), measured(pods))

"""A node whose pods wait for the verifier, and one with slow images, fed through the real route."""

from __future__ import annotations

import pytest

from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112, Loader, PodLoad, run
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import recording_of
from tests.backend.incidents.conftest import Service, service

__all__ = ["Service", "service"]

BUSY = Loader("cilium-agent", {name: 8 * mean for name, mean in CILIUM_112.items()})


@pytest.fixture(scope="session")
def verified() -> Recording:
    return recording_of(
        run(
            PodLoad(
                loader=BUSY, cilium="1.12.3", cilium_metrics=True, pull_s=6.0, told_at_cgroup=True, logged=True, seed=61
            )
        )
    )


@pytest.fixture(scope="session")
def upgraded() -> Recording:
    """The same pods with an agent that loads a quarter of the programs."""
    less = Loader("cilium-agent", {name: 2 * mean for name, mean in CILIUM_112.items() if name != "tail_nodeport_n"})
    return recording_of(run(PodLoad(loader=less, cilium="1.19.3", cilium_metrics=True, pull_s=6.0, seed=61)))


@pytest.fixture(scope="session")
def images() -> Recording:
    return recording_of(run(PodLoad(pull_s=40.0, seed=68)))

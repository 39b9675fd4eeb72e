"""The sustained faults of the bpf-startup lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.podstart.bench import calibrated, node
from labs.podstart.node import Node
from labs.podstart.variants import OBJECTIVE_S, Parameters, Variant
from labs.podstart.watched import LAB, Kubelet

_CAUSES = {Variant.FAULT: "pods/bpf_verification", Variant.SLOW_START: "pods/pod_slo"}


class Starting:
    """Pods that start one after another."""

    def __init__(self, made: Node, parameters: Parameters) -> None:
        self._made, self._number = made, 0
        self.parameters = parameters

    def goes_on(self) -> bool:
        """Start the next pod, which takes some seconds."""
        self._made.start(self._number, self.parameters)
        self._number += 1
        return True

    def change(self, **changes: float) -> None:
        """Start the next pods with other parameters."""
        self.parameters = self.parameters.model_copy(update=changes)


@contextmanager
def ongoing(served: Kubelet, variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with node(folder, served.url, served.page, say) as made:
        starting = Starting(made, calibrated(made, parameters, say))
        cause = _CAUSES.get(variant, "none")
        # A start takes 6 s, and several are needed before and after the fix.
        yield Ongoing(LAB, variant.value, cause, (), starting.goes_on, bound(FIXES, starting), before_s=110.0)


def _fewer_programs(starting: Starting, _fix: ProposedFix) -> None:
    starting.change(unused=round(starting.parameters.sections * 5 / 8))


def _images_first(starting: Starting, _fix: ProposedFix) -> None:
    starting.change(image_s=0.0)


def _look_at_rest(starting: Starting, _fix: ProposedFix) -> None:
    starting.change(wait_s=max(0.0, (starting.parameters.wait_s or 0.0) - OBJECTIVE_S / 2))


FIXES: Mapping[str, Callable[[Starting, ProposedFix], None]] = {
    "leave_out": _fewer_programs,
    "images_first": _images_first,
    "look_at_rest": _look_at_rest,
}

"""The sustained fault of the search-domains lab, and the fixes that can be tried on it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound, number_in
from labs.console import Say
from labs.errors import LabError
from labs.pace import tick_after
from labs.search.bench import Bench, bench
from labs.search.variants import Parameters, Variant, expected_cause, names_of
from labs.search.watched import LAB

_SECONDS, _LEAD_S = 1_500.0, 0.5


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    lasting = parameters.model_copy(update={"seconds": _SECONDS})
    with bench(lasting, folder, say) as made:
        from_us = tick_after(time.time() + _LEAD_S)
        for pod in made.pods:
            pod.begin(from_us)

        def goes_on() -> bool:
            if ended := [one.name for one in (made.cluster_dns, made.outside) if not one.is_running()]:
                raise LabError(f"{', '.join(ended)} exited under load.")
            return time.time() < from_us / 1e6 + _SECONDS

        keys = (made.cluster_dns.cgroup.key, *(pod.cgroup.key for pod in made.pods))
        cause = expected_cause(parameters)
        yield Ongoing(LAB, variant.value, cause, keys, goes_on, bound(FIXES, made))


def _ndots(made: Bench, fix: ProposedFix) -> None:
    value = number_in(fix, r"ndots\D+(\d+)")
    for pod in made.pods:
        # Written in place, so that the mount over /etc/resolv.conf shows it; glibc rereads it when it changes.
        pod.resolv_conf.write_text(re.sub(r"ndots:\d+", f"ndots:{value}", pod.resolv_conf.read_text()))


def _trailing_dot(made: Bench, _fix: ProposedFix) -> None:
    for pod in made.pods:
        pod.ask_for(names_of(made.parameters.model_copy(update={"trailing_dot": True}), pod.number))


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {"ndots": _ndots, "trailing_dot": _trailing_dot}

"""The faults of the dns-forward lab, going on, and the fixes that can be tried on them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs import load, processes
from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.errors import LabError
from labs.forwarding.bench import READY, Bench, bench, rise_of
from labs.forwarding.variants import Parameters, Variant, expected_cause
from labs.forwarding.watched import LAB

_SECONDS = 1_500.0
# Of each resolver's limit: an even share of the queries is not even in every second.
_USED = 0.7


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    lasting = parameters.model_copy(update={"seconds": _SECONDS})
    with bench(lasting, folder, say) as made:
        rise = rise_of(made, lasting, say)
        out, seconds = folder / "load.bin", (rise.to_us - rise.start_us) / 1e6
        driver = load.start(made.server, rise.load, seconds, rise.start_us, made.server.cgroup, made.clients, out)

        def goes_on() -> bool:
            if ended := [one.name for one in (made.server, made.upstream) if not one.is_running()]:
                raise LabError(f"{', '.join(ended)} exited under load.")
            if driver.poll():
                load.finish(driver, out)
            return driver.returncode is None

        try:
            time.sleep(max(0.0, rise.from_us / 1e6 - time.time()))
            keys = (made.server.cgroup.key,)
            yield Ongoing(LAB, variant.value, expected_cause(parameters), keys, goes_on, bound(FIXES, made))
        finally:
            processes.stop(driver)


def _more_resolvers(made: Bench, _fix: ProposedFix) -> None:
    p = made.parameters
    if p.limit_qps is None:
        raise LabError("Only variant rate-limited has resolvers with a limit.")
    more = math.ceil(p.qps / (_USED * p.limit_qps)) - 1
    added = [made.another_upstream() for _ in range(more)]
    first = f"forward . {made.upstream.address}:{made.upstream.port} {{\n"
    rest = "".join(f" {one.address}:{one.port}" for one in added)
    _edit(made, first, first.replace(" {\n", f"{rest} {{\n        policy round_robin\n"))


def _cache(made: Bench, fix: ProposedFix) -> None:
    """The lines of the patch, above those of forward."""
    patch = "".join(f"    {line}\n" for line in fix["patches"][0]["text"].splitlines())
    _edit(made, "    forward ", f"{patch}    forward ")


def _negative_cache(made: Bench, _fix: ProposedFix) -> None:
    _edit(made, "    forward ", "    cache 30\n    forward ")


def _another_socket(made: Bench, _fix: ProposedFix) -> None:
    """On a second address, and so with a second socket: more than that no option of dnsmasq gives."""
    more = f"--listen-address={made.addresses.address(0, 11)}"
    made.server.restart(READY, command=[*made.server.command, more])


def _force_tcp(made: Bench, _fix: ProposedFix) -> None:
    _edit(made, "        max_fails 0\n", "        max_fails 0\n        force_tcp\n")


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {
    "more_resolvers": _more_resolvers,
    "cache_more": _cache,
    "negative_cache": _negative_cache,
    "multisocket": _another_socket,
    "force_tcp": _force_tcp,
}


def _edit(made: Bench, old: str, new: str) -> None:
    """Change the CoreDNS's Corefile, and restart it."""
    corefile = made.folder / "coredns.Corefile"
    corefile.write_text(corefile.read_text().replace(old, new))
    made.server.restart(READY)

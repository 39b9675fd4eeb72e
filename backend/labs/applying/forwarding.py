"""The sustained faults of the dns-forward lab, and the fixes that can be tried on them."""

from __future__ import annotations

import copy
import math
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from labs import load, processes
from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.errors import LabError
from labs.forwarding.bench import READY, Bench, bench, rise_of
from labs.forwarding.variants import Parameters, Variant, expected_cause
from labs.forwarding.watched import LAB
from labs.load import Load
from labs.pace import tick_after
from labs.servers import Server

_SECONDS = 1_500.0
# Per resolver, of its limit: an even share of the queries is not even in every second.
_USED = 0.7
# Until a driver starts sending.
_LEAD_S = 1.5


class Running:
    """The servers and their clients."""

    def __init__(self, made: Bench, shape: Load, seconds: float, start_us: int) -> None:
        self.made, self._shape, self._seconds = made, shape, seconds
        self._drivers: list[tuple[subprocess.Popen[bytes], Path]] = []
        self._ask(made.server, shape, start_us)

    def _ask(self, server: Server, shape: Load, start_us: int) -> None:
        made, out = self.made, self.made.folder / f"load-{len(self._drivers)}.bin"
        driver = load.start(server, shape, self._seconds, start_us, made.server.cgroup, made.clients, out)
        self._drivers.append((driver, out))

    def spread(self, addresses: Sequence[str]) -> None:
        """The same load, spread from now on over the addresses with an equal share of the clients at each."""
        self.end()
        start_us, clients = tick_after(time.time() + _LEAD_S), self._shape.clients
        for number, address in enumerate(addresses):
            own = clients[number :: len(addresses)]
            share = len(own) / len(clients)
            server = copy.copy(self.made.server)
            server.address = address
            shape = replace(self._shape, qps=share * self._shape.qps, burst_qps=share * self._shape.burst_qps)
            self._ask(server, replace(shape, calm_s=0.0, clients=own), start_us)

    def goes_on(self) -> bool:
        """Raises LabError if a server or a driver failed."""
        if ended := [one.name for one in (self.made.server, self.made.upstream) if not one.is_running()]:
            raise LabError(f"{', '.join(ended)} exited under load.")
        for driver, out in self._drivers:
            if driver.poll():
                load.finish(driver, out)
        return all(driver.returncode is None for driver, _ in self._drivers)

    def end(self) -> None:
        """Stop all drivers."""
        for driver, _ in self._drivers:
            processes.stop(driver)
        self._drivers.clear()


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    lasting = parameters.model_copy(update={"seconds": _SECONDS})
    with bench(lasting, folder, say) as made:
        rise = rise_of(made, lasting, say)
        running = Running(made, rise.load, (rise.to_us - rise.start_us) / 1e6, rise.start_us)
        try:
            time.sleep(max(0.0, rise.from_us / 1e6 - time.time()))
            keys = (made.server.cgroup.key,)
            yield Ongoing(LAB, variant.value, expected_cause(parameters), keys, running.goes_on, bound(FIXES, running))
        finally:
            running.end()


def _more_resolvers(now: Running, _fix: ProposedFix) -> None:
    made = now.made
    p = made.parameters
    if p.limit_qps is None:
        raise LabError("Only variant rate-limited has resolvers with a limit.")
    more = math.ceil(p.qps / (_USED * p.limit_qps)) - 1
    added = [made.another_upstream() for _ in range(more)]
    first = f"forward . {made.upstream.address}:{made.upstream.port} {{\n"
    rest = "".join(f" {one.address}:{one.port}" for one in added)
    _edit(made, first, first.replace(" {\n", f"{rest} {{\n        policy round_robin\n"))


def _cache(now: Running, fix: ProposedFix) -> None:
    """Insert the lines of the patch above those of forward."""
    patch = "".join(f"    {line}\n" for line in fix["patches"][0]["text"].splitlines())
    _edit(now.made, "    forward ", f"{patch}    forward ")


def _negative_cache(now: Running, _fix: ProposedFix) -> None:
    _edit(now.made, "    forward ", "    cache 30\n    forward ")


def _another_socket(now: Running, _fix: ProposedFix) -> None:
    """Listen on a second address, and so a second socket; no option of dnsmasq gives more. Both get the same load."""
    made, second = now.made, now.made.addresses.address(0, 11)
    made.server.restart(READY, command=[*made.server.command, f"--listen-address={second}"])
    now.spread((made.server.address, second))


def _force_tcp(now: Running, _fix: ProposedFix) -> None:
    _edit(now.made, "        max_fails 0\n", "        max_fails 0\n        force_tcp\n")


FIXES: Mapping[str, Callable[[Running, ProposedFix], None]] = {
    "more_resolvers": _more_resolvers,
    "cache_more": _cache,
    "negative_cache": _negative_cache,
    "multisocket": _another_socket,
    "force_tcp": _force_tcp,
}


def _edit(made: Bench, old: str, new: str) -> None:
    """Change CoreDNS's Corefile, and restart CoreDNS."""
    corefile = made.folder / "coredns.Corefile"
    corefile.write_text(corefile.read_text().replace(old, new))
    made.server.restart(READY)

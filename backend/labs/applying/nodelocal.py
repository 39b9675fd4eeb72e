"""The sustained faults of the nodelocal-dnsmasq lab, and the fixes that can be tried on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs import coredns, load, processes
from labs.applying.ongoing import Ongoing, ProposedFix, bound, number_in
from labs.console import Say
from labs.errors import LabError
from labs.nodelocal.bench import NAMES, READY, Bench, bench, start_dnsmasq
from labs.nodelocal.variants import Parameters, Variant, expected_cause
from labs.nodelocal.watched import LAB
from labs.rise import Rise
from labs.servers import free_port

_SECONDS, _MANY = 1_500.0, 1_000


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    lasting = parameters.model_copy(update={"seconds": _SECONDS})
    with bench(lasting, folder, say) as made:
        rise = Rise.soon(lasting, NAMES, made.addresses, say, volley=lasting.volley)
        out, seconds = folder / "load.bin", (rise.to_us - rise.start_us) / 1e6
        driver = load.start(
            made.node_local, rise.load, seconds, rise.start_us, made.node_local.cgroup, made.clients, out
        )

        def goes_on() -> bool:
            if ended := [one.name for one in made.servers if not one.is_running()]:
                raise LabError(f"{', '.join(ended)} exited under load.")
            if driver.poll():
                load.finish(driver, out)
            return driver.returncode is None

        try:
            time.sleep(max(0.0, rise.from_us / 1e6 - time.time()))
            keys = tuple(one.cgroup.key for one in made.servers)
            yield Ongoing(LAB, variant.value, expected_cause(parameters), keys, goes_on, bound(FIXES, made))
        finally:
            processes.stop(driver)


def _more_connections(made: Bench, fix: ProposedFix) -> None:
    _limit_connections(made, number_in(fix, r"--max-tcp-connections=(\d+)"))


def _connections_without_end(made: Bench, _fix: ProposedFix) -> None:
    _limit_connections(made, _MANY)


def _limit_connections(made: Bench, limit: int) -> None:
    for one in made.dnsmasqs:
        kept = [word for word in one.command if not word.startswith("--max-tcp-connections")]
        one.restart(READY, command=[*kept, f"--max-tcp-connections={limit}"])


def _prefer_udp(made: Bench, _fix: ProposedFix) -> None:
    _edit(made, "force_tcp", "prefer_udp")


def _more_replicas(made: Bench, fix: ProposedFix) -> None:
    wanted = int(fix["title"].removeprefix("More replicas: ").split()[0])
    added = [start_dnsmasq(made, index) for index in range(len(made.dnsmasqs) + 1, wanted + 1)]
    first = f"{made.dnsmasqs[0].address}:{made.dnsmasqs[0].port}"
    _edit(made, first, " ".join([first, *(f"{one.address}:{one.port}" for one in added)]))


def _another_upstream(made: Bench, _fix: ProposedFix) -> None:
    endpoint = (made.addresses.address(2, 2), free_port(made.addresses.address(2, 2), 10053))
    corefile = coredns.slow_corefile(endpoint, 0.0, READY)
    made.running(coredns.configured("upstream-2", endpoint, made.folder, made.cgroup("upstream-2"), corefile))
    old, new = f"{made.upstream.address}#{made.upstream.port}", f"{endpoint[0]}#{endpoint[1]}"
    for one in made.dnsmasqs:
        one.restart(READY, command=[word.replace(old, new) for word in one.command])


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {
    "max_tcp_connections": _more_connections,
    "more_connections": _connections_without_end,
    "prefer_udp": _prefer_udp,
    "more_replicas": _more_replicas,
    "another_upstream": _another_upstream,
}


def _edit(made: Bench, old: str, new: str) -> None:
    """Change the node-local CoreDNS's Corefile, and restart it."""
    corefile = made.folder / "node-local-dns.Corefile"
    corefile.write_text(corefile.read_text().replace(old, new))
    made.node_local.restart(READY)

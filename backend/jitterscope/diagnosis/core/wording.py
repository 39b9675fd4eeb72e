"""Display text of figures and names in findings."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.core import signals
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

# DNS servers by the names of their programs, as their makers spell them.
DNS_SOFTWARE = {
    "coredns": "CoreDNS",
    "dnsmasq": "dnsmasq",
    "unbound": "Unbound",
    "named": "BIND",
    "pdns_recursor": "PowerDNS",
}


def spelled(software: str) -> str:
    """The name of a DNS server as its makers spell it."""
    return DNS_SOFTWARE.get(software, software)


def who(snapshot: Snapshot) -> str:
    """The display name of the subject: its DNS software, else its container, else its program, else its cgroup.

    Of several programs, the one with the most requests.
    """
    for server in snapshot.dns_servers:
        if name := server.fact("dns.software"):
            return spelled(name)
    if name := snapshot.subject.fact("workload.container"):
        return name
    listening = [(_requests(server), name) for server in snapshot.tcp_servers if (name := server.fact("tcp.program"))]
    if listening:
        return max(listening)[1]
    for process in snapshot.processes:
        if name := program(process):
            return name
    return snapshot.subject.name or snapshot.subject.key


def _requests(server: ResourceView) -> float:
    return float(np.nansum(server.series.get("requests", 0.0)))


def program(process: ResourceView) -> str | None:
    """The display name of the program of a process: "CoreDNS", "python3"."""
    known = next((spelled for name, spelled in DNS_SOFTWARE.items() if signals.runs(process, name)), None)
    return known or signals.program(process)


def cpus(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") + " CPU" if math.isfinite(value) else "no limit"


def apart(one: float, other: float) -> tuple[str, str]:
    """Two figures for one sentence, in the fewest digits (at least two, at most five) that tell them apart."""
    for digits in range(2, 6):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def percent(ratio: float) -> str:
    if not math.isfinite(ratio):
        return "unknown"
    value = 100 * ratio
    if value and value < 0.1:
        return f"{value:.2g} %"
    return f"{value:.1f} %" if value < 10 else f"{value:.0f} %"


def ms(value_us: float) -> str:
    value = value_us / 1000
    return f"{value:.2g} ms" if value < 1 else f"{value:.1f} ms" if value < 10 else f"{value:,.0f} ms"


def seconds(value_us: float) -> str:
    return f"{value_us / 1e6:.2f} s" if value_us < 10e6 else f"{value_us / 1e6:,.0f} s"


def count(value: float, noun: str, plural: str | None = None) -> str:
    return f"{value:,.0f} {noun if round(value) == 1 else plural or noun + 's'}"


def times(value: float) -> str:
    return f"{value:.1f} ×" if value < 10 else f"{value:,.0f} ×"


def probability(p: float) -> str:
    return f"{p:.1g}" if p < 0.001 else f"{p:.2g}"


def mebibytes(value: float) -> str:
    return f"{value / (1 << 20):,.0f} MiB"

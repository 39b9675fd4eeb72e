"""Fixes for lost datagrams: room for bursts, a transport that repeats by itself, shorter waits."""

from __future__ import annotations

from typing import Literal

from jitterscope.diagnosis.areas.dns import settings
from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.readings.path import Edge
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import is_dnsmasq
from jitterscope.diagnosis.core import predicted
from jitterscope.diagnosis.core.finding import Fix, Found, Interval, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Seen, Unseen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map
from jitterscope.diagnosis.programs import versions as dns_versions

VERIFY = "dns_socket_drops and dns_timeouts stay 0, and no answer takes a full timeout."
RESOLV_CONF = "https://man7.org/linux/man-pages/man5/resolv.conf.5.html"
RACE = "https://github.com/kubernetes/kubernetes/issues/56903"


def _without(found: Found) -> Interval | None:
    return predicted.remaining(found, "slow_in_stalls", 0.0, 0.0, 0.1)


def larger_buffer(server: ResourceView, drops: float, found: Found) -> Fix:
    # Linux's default of 212,992 bytes holds about 250 small datagrams: each is charged with its whole buffer.
    return Fix(
        id="larger_receive_buffer",
        title="Enlarge the receive buffer of UDP sockets",
        summary=f"{drops:,.0f} datagrams came in bursts that were larger than the buffer. A buffer of 4 MiB holds "
        "about 5,000 small queries, which then wait a few milliseconds instead of being lost.",
        verdict="removes",
        predicted=predictions(slow_ratio=_without(found)),
        patches=[
            Patch(
                label="On the node, as root; then restart the server",
                language="shell",
                text="sysctl -w net.core.rmem_default=4194304 net.core.rmem_max=4194304",
            )
        ],
        caveats=[
            "Applies to all programs on the node, but only to sockets opened afterwards.",
            "If the server is too slow on average, it only makes the queue longer.",
        ],
        verify=VERIFY,
        undo="sysctl -w net.core.rmem_default=212992 net.core.rmem_max=212992, and restart the server.",
        references=["https://docs.kernel.org/admin-guide/sysctl/net.html"],
    )


def multisocket(snapshot: Snapshot, server: ResourceView) -> Fix | None:
    """For a CoreDNS with one socket."""
    if server.fact("dns.software") != "coredns" or (number(server.fact("dns.udp_sockets")) or 1) > 1:
        return None
    gate = dns_versions.COREDNS_MULTISOCKET
    allowed = gate.open(dns_versions.of_server(server, "coredns"))
    base = {
        "id": "multisocket",
        "title": "Open several UDP sockets (CoreDNS multisocket)",
        "verify": VERIFY,
        "undo": "Remove the line and restart CoreDNS.",
        "references": ["https://coredns.io/plugins/multisocket/", gate.source],
    }
    if allowed is False:
        return Fix(
            **base, verdict="cannot_help", summary=f"Cannot help: no multisocket before CoreDNS {gate.since_text}."
        )
    return Fix(
        **base,
        verdict="reduces",
        summary="Each socket has its own buffer and reader, so a burst from several clients spreads over them.",
        precondition=None
        if allowed
        else f"Requires CoreDNS {gate.since_text} or later: an older one refuses to start.",
        patches=config_map.multisocket(snapshot, server, 2),
        caveats=["Datagrams of one client address and port all go to one socket."],
    )


def force_tcp(
    snapshot: Snapshot, server: ResourceView, target: ResourceView | None, edge: Edge, lost_ratio: float
) -> Fix | None:
    """TCP repeats a lost segment within some 200 ms. Not towards a dnsmasq, which has few connections.

    What loses datagrams can lose segments too: then as many answers are over 20 ms as before, and few over 0.5 s.
    """
    if server.fact("dns.software") not in ("coredns", "node-cache"):
        return None
    base = {
        "id": "force_tcp",
        "title": f"Query {edge.address} over TCP (force_tcp)",
        "verify": VERIFY,
        "undo": "Remove the line and reload.",
        "references": ["https://coredns.io/plugins/forward/", "https://www.rfc-editor.org/rfc/rfc7766"],
    }
    if target is not None and is_dnsmasq(target):
        return Fix(
            **base, verdict="cannot_help",
            summary="Cannot help: the upstream is dnsmasq, which serves few concurrent TCP connections and would run "
            "out of them.",
        )  # fmt: skip
    return Fix(
        **base,
        verdict="reduces",
        summary="TCP resends a lost segment within about 200 ms, instead of the 2 s that CoreDNS waits for a datagram.",
        predicted=predictions(overdue_ratio=predicted.share(lost_ratio, 0.0, 0.02, 0.1)),
        precondition=None
        if target is not None
        else "Works only if the upstream answers over TCP and is not dnsmasq (20 connections).",
        patches=config_map.with_command(
            snapshot,
            server,
            config_map.options(server, "forward", {"force_tcp": None}, without=("prefer_udp",)),
            Patch(label="In forward (prefer_udp has no effect beside it)", language="corefile", text="force_tcp"),
        ),
        caveats=[
            "An answer whose segment is lost still comes 200 ms late.",
            "The upstream must allow enough connections: queries/s × the time of an answer.",
        ],
    )


def conntrack(where: Literal["socket", "upstream"]) -> Fix | None:
    """Where datagrams get lost between machines."""
    if where == "socket":
        return None
    return Fix(
        id="conntrack_race",
        title="Check conntrack for the loss",
        summary="A Service's address is translated by conntrack; two concurrent queries from one socket race for the "
        "entry, and one of them is dropped. `insert_failed` then rises.",
        verdict="unknown",
        patches=[
            Patch(label="On the node, as root", language="shell", text="conntrack -S | grep -o 'insert_failed=[0-9]*'\n"
                  "nstat -az UdpRcvbufErrors UdpInErrors"),
        ],
        verify=VERIFY,
        undo="Nothing to undo.",
        references=[RACE],
    )  # fmt: skip


def client_timeout(after_us: int) -> Fix:
    return Fix(
        id="client_timeout",
        title="Retry sooner (`timeout:1` in resolv.conf)",
        summary="As many datagrams are lost as before, but a client retries a lost query after 1 s instead of 5 s."
        + ("" if after_us >= 5_000_000 else " The 2 s timeout of a CoreDNS in between stays."),
        verdict="reduces",
        patches=[
            Patch(
                label="Pod",
                language="yaml",
                text='dnsConfig:\n  options:\n  - name: timeout\n    value: "1"\n  - name: attempts\n    value: "3"',
            )
        ],
        caveats=["If the upstream needs more than 1 s for a name, it gets the same query several times."],
        verify="Clients wait 1 s at most for a lost datagram.",
        undo="Remove the options and replace the pods.",
        references=[RESOLV_CONF],
    )


_LOST = ("timeout_ratio", "overdue_ratio", "failed_ratio")
# A forwarder repeats a lost query, so hardly any times out: most losses make late answers.
_LATE = ("overdue_ratio", "timeout_ratio", "failed_ratio")
FIXES = (
    FixKind(
        id="larger_receive_buffer",
        title="Enlarge the receive buffer of UDP sockets",
        precondition="Drops in a full receive queue, in bursts.",
        landing=landing.LARGER_BUFFER,
        measures=("socket_drops_ratio", *_LOST),
    ),
    FixKind(
        id="force_tcp",
        title="Query the upstream over TCP (force_tcp)",
        precondition="CoreDNS, and an upstream that is not dnsmasq.",
        landing=landing.in_corefile(
            "forward in the Corefile gets force_tcp.",
            lambda before, after: (
                any(up.force_tcp for up in landing.upstreams(after))
                and landing.sets("forward", "force_tcp", "prefer_udp")(before, after)
            ),
        ),
        measures=_LATE,
        lab="dns-forward --variant udp-loss --apply force_tcp",
    ),
    FixKind(
        id="conntrack_race",
        title="Check conntrack for the loss",
        precondition="A Service's address between the servers.",
        landing=Unseen("It changes nothing: it only shows where datagrams are lost."),
        measures=_LOST,
    ),
    FixKind(
        id="client_timeout",
        title="Retry sooner (`timeout:1` in resolv.conf)",
        precondition="The programs read resolv.conf, as glibc, musl, and Go do.",
        landing=Seen(
            "A client's resolv.conf sets a shorter timeout than any before, or the longest one is gone.",
            (settings.RESOLV_CONF,),
            landing.clients_lower("timeout_s"),
        ),
        measures=_LOST,
    ),
)

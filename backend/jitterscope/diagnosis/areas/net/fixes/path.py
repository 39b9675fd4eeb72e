"""Fixes of lost segments: a path that loses none, and a shorter wait before they are sent again."""

from __future__ import annotations

import shlex

from jitterscope.diagnosis.areas.net.readings.resends import Resends
from jitterscope.diagnosis.core.finding import Fix, Found, Interval, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot

VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once no answer waits to be sent "
    "again. By hand: `nstat -az TcpRetransSegs` in the network namespace of the server hardly rises."
)
MEASURES = ("resent_late_ratio", "retransmits_per_min")


def propose(snapshot: Snapshot, found: Found, resends: Resends) -> list[Fix]:
    pid = shlex.quote((resends.at.server.fact("tcp.process") or "PID").partition(":")[0])
    ratio = resends.late.count / max(1.0, resends.requests)
    fixes = [_repair(pid, ratio, counted=bool(resends.late.count))]
    if resends.late.count:
        fixes.append(_timer(pid))
    return fixes


def _repair(pid: str, ratio: float, *, counted: bool) -> Fix:
    return Fix(
        id="repair_path",
        title="Find where segments are lost, and repair the path",
        summary="A loss of 0.1 % makes one of 1,000 small answers 200 ms late. Interfaces, queues and packet filters "
        "count what they drop: the counter that rises as fast as segments are sent again is the place.",
        verdict="removes",
        predicted=predictions(resent_late_ratio=Interval(low=0.0, high=0.1 * ratio, expected=0.0) if counted else None),
        precondition="The path is yours: a node, a switch, a packet filter or a policer (bandwidth limit) between "
        "both sides.",
        patches=[
            Patch(
                label="Which clients lose (retrans), in the server's network namespace",
                language="shell",
                text=f"nsenter -t {pid} -n ss -tin state established | grep -B1 'retrans:'",
            ),
            Patch(
                label="Counters of drops, on this node and each one between",
                language="shell",
                text="ip -s -s link\ntc -s qdisc\nethtool -S INTERFACE | grep -iE 'drop|discard|err|miss'\n"
                "nft list ruleset -a | grep -E 'drop|limit'\ncat /proc/net/softnet_stat",
            ),
        ],
        caveats=[
            "Policers of clouds and of CNI plugins (kubernetes.io/egress-bandwidth) drop on purpose what exceeds the "
            "limit.",
            "A full receive queue of the other machine looks the same: look at its counters, too.",
        ],
        verify=VERIFY,
        undo="Nothing to undo: looking changes nothing.",
        references=[
            "https://docs.kernel.org/networking/statistics.html",
            "https://man7.org/linux/man-pages/man8/ss.8.html",
        ],
    )


def _timer(pid: str) -> Fix:
    return Fix(
        id="lower_rto_min",
        title="Send again after 40 ms instead of 200 ms, to clients that are near",
        summary="The retransmission timer of a route can have another least value. Segments are lost as often as "
        "before; clients get them 40 ms after the first try instead of 200 ms.",
        verdict="reduces",
        precondition="Clients are in the same data center: round trips far below 40 ms.",
        patches=[
            Patch(
                label="In the server's network namespace, as root, until it is created again",
                language="shell",
                text=f"nsenter -t {pid} -n ip route show\nnsenter -t {pid} -n ip route change ROUTE rto_min 40ms",
            )
        ],
        caveats=[
            "A client may delay an acknowledgment by 40 ms, some by 200 ms: a lower value sends segments twice that "
            "were not lost.",
            "It does not repair the path: above some percent of loss answers are late all the same.",
            "Where answers are slow after less than 40 ms, as many are slow as before, by less.",
        ],
        verify="The median of retransmit_delay_us falls from 200 ms to about 40 ms.",
        undo="ip route change ROUTE, without rto_min.",
        references=["https://man7.org/linux/man-pages/man8/ip-route.8.html", "https://www.rfc-editor.org/rfc/rfc6298"],
    )


FIXES = (
    FixKind(
        id="repair_path",
        title="Repair the path that loses segments",
        precondition="A path of yours between clients and server.",
        landing=Unseen("Links, queues and packet filters are no facts: most are on other machines."),
        measures=MEASURES,
        lab="packet-loss --apply repair_path",
    ),
    FixKind(
        id="lower_rto_min",
        title="Lower the least retransmission timeout of a route",
        precondition="Clients in the same data center.",
        landing=Unseen("No collector source reads the attributes of routes."),
        measures=MEASURES,
    ),
)

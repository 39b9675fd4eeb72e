"""Fixes of lost segments: a path that loses none, and a shorter wait before they are sent again."""

from __future__ import annotations

import shlex

from jitterscope.diagnosis.areas.net.readings.resends import Resends
from jitterscope.diagnosis.core.finding import Fix, Found, Interval, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot

VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once no answer waits for a "
    "retransmission. By hand: `nstat -az TcpRetransSegs` in the network namespace of the server hardly rises."
)
MEASURES = ("resent_late_ratio", "retransmits_per_min")


def propose(snapshot: Snapshot, found: Found, resends: Resends) -> list[Fix]:
    pid = shlex.quote((resends.at.server.fact("tcp.process") or "PID").partition(":")[0])
    ratio = resends.late.count / max(1.0, resends.requests)
    fixes = [_repair(pid, ratio, counted=bool(resends.late.count))]
    # To distant clients, a shorter timer resends what is merely still on its way.
    if resends.late.count > resends.at_once and resends.near is not False:
        fixes.append(_timer(pid))
    return fixes


def _repair(pid: str, ratio: float, *, counted: bool) -> Fix:
    return Fix(
        id="repair_path",
        title="Find where segments are lost and repair the path",
        summary="A loss of 0.1 % makes 1 of 1,000 small answers 200 ms late. Interfaces, queues, and packet filters "
        "count what they drop: the counter that rises as fast as retransmissions shows the place.",
        verdict="removes",
        predicted=predictions(resent_late_ratio=Interval(low=0.0, high=0.1 * ratio, expected=0.0) if counted else None),
        precondition="Works only if you control the path: a node, a switch, a packet filter, or a policer (bandwidth "
        "limit) between the two sides.",
        patches=[
            Patch(
                label="Clients with retransmissions (retrans), in the server's network namespace",
                language="shell",
                text=f"nsenter -t {pid} -n ss -tin state established | grep -B1 'retrans:'",
            ),
            Patch(
                label="Drop counters, on this node and on each hop",
                language="shell",
                text="ip -s -s link\ntc -s qdisc\nethtool -S INTERFACE | grep -iE 'drop|discard|err|miss'\n"
                "nft list ruleset -a | grep -E 'drop|limit'\ncat /proc/net/softnet_stat",
            ),
        ],
        caveats=[
            "Policers of clouds and of CNI plugins (kubernetes.io/egress-bandwidth) drop traffic above their limit on "
            "purpose.",
            "A full receive queue on the other machine looks the same: check its counters too.",
        ],
        verify=VERIFY,
        undo="Nothing to undo.",
        references=[
            "https://docs.kernel.org/networking/statistics.html",
            "https://man7.org/linux/man-pages/man8/ss.8.html",
        ],
    )


def _timer(pid: str) -> Fix:
    return Fix(
        id="lower_rto_min",
        title="Retransmit after 40 ms instead of 200 ms to nearby clients",
        summary="A route can set a lower minimum for the retransmission timer. As many segments are lost as before, "
        "but clients get them 40 ms after the first attempt instead of 200 ms.",
        verdict="reduces",
        precondition="Works only if clients are in the same data center, with round trips far below 40 ms.",
        patches=[
            Patch(
                label="In the server's network namespace, as root, until the namespace is recreated",
                language="shell",
                text=f"nsenter -t {pid} -n ip route show\nnsenter -t {pid} -n ip route change ROUTE rto_min 40ms",
            )
        ],
        caveats=[
            "Clients can delay an acknowledgment by 40 ms, some by 200 ms: a lower value retransmits segments that "
            "were not lost.",
            "Does not repair the path: with a loss of more than a few percent, answers are late all the same.",
            "If answers are slow after less than 40 ms already, as many stay slow, but by less.",
        ],
        verify="The median of retransmit_delay_us falls from 200 ms to about 40 ms.",
        undo="Run `ip route change ROUTE` without `rto_min`.",
        references=["https://man7.org/linux/man-pages/man8/ip-route.8.html", "https://www.rfc-editor.org/rfc/rfc6298"],
    )


FIXES = (
    FixKind(
        id="repair_path",
        title="Repair the path that loses segments",
        precondition="A path between clients and server that you control.",
        landing=Unseen("No collector reads links, queues, and packet filters: most are on other machines."),
        measures=MEASURES,
        lab="packet-loss --apply repair_path",
    ),
    FixKind(
        id="lower_rto_min",
        title="Lower the minimum retransmission timeout of a route",
        precondition="Clients in the same data center.",
        landing=Unseen("No collector source reads the attributes of routes."),
        measures=MEASURES,
    ),
)

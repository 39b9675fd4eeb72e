"""Fixes of a full accept queue: more room for bursts, and a program that accepts sooner."""

from __future__ import annotations

import shlex

from jitterscope.diagnosis.areas.net.readings.overflow import Overflow
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Fix, Interval, Patch, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.listeners import Listener, listener_of

VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once no attempt is dropped. By "
    "hand: `nstat -az TcpExtListenOverflows TcpExtListenDrops` in the network namespace of the server does not rise."
)
REFERENCES = [
    "https://man7.org/linux/man-pages/man2/listen.2.html",
    "https://docs.kernel.org/admin-guide/sysctl/net.html",
]
MEASURES = ("listen_drops_ratio", "slow_ratio")
LEAST, MOST, ROOM = 128, 65_535, 1.5
# Of the ticks in which connections come: the queue never gets empty.
SUSTAINED = 0.5


def propose(snapshot: Snapshot, found: Overflow) -> list[Fix]:
    """The kernel's own limit first where it is the one that bites: without it no other setting counts."""
    limit, most = found.at.limit or 0.0, found.at.somaxconn
    listener = listener_of(found.at.server.fact("tcp.program"))
    backlog = enough(found)
    capped = most is not None and limit >= most
    fixes = [] if most is None or backlog <= most else [_somaxconn(snapshot, found, backlog, capped=capped)]
    if not capped or backlog > limit:
        fixes.append(_backlog(snapshot, found, backlog, listener))
    fixes.append(_acceptors(snapshot, found, listener))
    return fixes


def enough(found: Overflow) -> int:
    """A backlog, a power of 2, that holds half as many again as would have waited."""
    wanted, size = ROOM * found.room, LEAST
    while size < wanted and size < MOST:
        size *= 2
    return min(size, MOST)


def _sustained(found: Overflow) -> bool:
    return found.sustained >= SUSTAINED


def _predicted(found: Overflow) -> dict[str, Interval]:
    ratio = found.drops / max(1.0, found.attempts)
    return predictions(listen_drops_ratio=Interval(low=0.0, high=0.1 * ratio, expected=0.0))


def _wait(snapshot: Snapshot, found: Overflow) -> str:
    per_second = found.accepted_per_s(snapshot.step_us)
    if not per_second > 0:
        return "In a longer queue connections wait longer to be accepted, and their requests wait with them."
    return (
        f"While attempts were dropped, {per_second:,.0f} connections/s were established: at that rate the last of "
        f"{found.room:,.0f} waits up to {found.room / per_second * 1000:,.0f} ms instead of 1 s or more."
    )


def _too_many(snapshot: Snapshot, found: Overflow) -> str:
    per_second = found.accepted_per_s(snapshot.step_us)
    return (
        f"The queue was nearly full in {100 * found.sustained:.0f} % of the ticks in which connections arrived: they "
        f"arrive faster than the server accepts them ({per_second:,.0f}/s). A longer queue fills up too, and each "
        "connection waits longer in it."
    )


def _backlog(snapshot: Snapshot, found: Overflow, backlog: int, listener: Listener | None) -> Fix:
    sustained = _sustained(found)
    limit = found.at.limit or 0.0
    texts = [] if listener is None else [listener.backlog(backlog, found.at.server.key.rpartition(":")[2])]
    precondition = (
        None
        if texts
        else f"Works only if the program has a setting for the backlog of listen(). The backlog is {limit:,.0f} now."
    )
    return Fix(
        id="raise_backlog",
        title=f"Raise the backlog of listen() to {backlog}",
        summary=_too_many(snapshot, found)
        if sustained
        else f"Up to {found.room:,.0f} connections arrived at once, and the queue holds {limit:,.0f}. With {backlog:,} "
        "all of them fit, and none is dropped.",
        verdict="cannot_help" if sustained else "removes",
        predicted={} if sustained else _predicted(found),
        precondition=precondition,
        patches=[] if sustained else texts or [
            Patch(label="Show the current value (Send-Q)", language="shell",
                  text=f"ss -ltn 'sport = :{found.at.server.key.rpartition(':')[2]}'"),
        ],
        caveats=[
            *([] if sustained else [_wait(snapshot, found)]),
            "net.core.somaxconn of the network namespace caps it when listen() is called"
            + (f": {found.at.somaxconn:,.0f} here." if found.at.somaxconn is not None else "."),
            "Takes effect when the program calls listen() again: restart it.",
        ],
        verify=VERIFY,
        undo=f"Set the backlog back to {limit:,.0f} and restart the program.",
        references=[*REFERENCES, *([] if listener is None else [listener.reference])],
    )  # fmt: skip


def _somaxconn(snapshot: Snapshot, found: Overflow, backlog: int, *, capped: bool) -> Fix:
    most = found.at.somaxconn or 0.0
    sustained = _sustained(found)
    if patches.manager(snapshot) == "kubernetes":
        text = Patch(
            label="Pod (the kubelet needs --allowed-unsafe-sysctls=net.core.somaxconn)", language="yaml",
            text=f'securityContext:\n  sysctls:\n  - name: net.core.somaxconn\n    value: "{backlog}"',
        )  # fmt: skip
    else:
        pid = shlex.quote((found.at.server.fact("tcp.process") or "PID").partition(":")[0])
        text = Patch(
            label="In the server's network namespace, as root; then restart the server", language="shell",
            text=f"nsenter -t {pid} -n sysctl -w net.core.somaxconn={backlog}",
        )  # fmt: skip
    return Fix(
        id="raise_somaxconn",
        title=f"Raise net.core.somaxconn to {backlog}",
        summary=_too_many(snapshot, found)
        if sustained
        else f"It is {most:,.0f}, and up to {found.room:,.0f} connections arrived at once"
        + (": it caps the program's own backlog." if capped else ". It caps any larger backlog."),
        verdict="cannot_help" if sustained else "removes" if capped else "unknown",
        predicted=_predicted(found) if capped and not sustained else {},
        precondition="Works only if the program requests a backlog that large from listen(): most do, or have a "
        "setting for it.",
        patches=[] if sustained else [text],
        caveats=[
            *([] if sustained else [_wait(snapshot, found)]),
            "Applies to sockets that start to listen afterwards: restart the program.",
            "Each network namespace has its own value: the node's value does not apply in pods.",
        ],
        verify=VERIFY,
        undo=f"Set net.core.somaxconn back to {most:,.0f} and restart the program.",
        references=REFERENCES,
    )


def _acceptors(snapshot: Snapshot, found: Overflow, listener: Listener | None) -> Fix:
    sustained = _sustained(found)
    text = None if listener is None else listener.acceptors
    return Fix(
        id="more_acceptors",
        title="Accept connections in more threads or processes",
        summary=_too_many(snapshot, found)
        if sustained
        else "A queue that empties faster needs less room. Several threads or processes accept a burst at once.",
        verdict="reduces" if sustained else "unknown",
        precondition="Works only if accepting takes the time: the server does something for each connection before it "
        "accepts the next one, such as a lookup, a TLS handshake, or starting a process.",
        patches=[] if text is None else [text],
        caveats=[
            "With SO_REUSEPORT each socket has its own queue, and the kernel spreads connections over the sockets "
            "whether or not their program is busy."
        ],
        verify=VERIFY,
        undo="Set the number of threads or processes back.",
        references=[
            "https://man7.org/linux/man-pages/man7/socket.7.html",
            *([] if listener is None else [listener.reference]),
        ],
    )


def _raised(name: str) -> Seen:
    def lands(before: Facts, after: Facts) -> bool:
        was, now = number(before.get(name)), number(after.get(name))
        return was is not None and now is not None and now > was

    how = {
        "tcp.accept_limit": "The limit of the listening socket's accept queue rises.",
        "tcp.somaxconn": "net.core.somaxconn of the server's network namespace rises.",
        "tcp.listeners": "The server listens with more sockets.",
    }
    # The limit of a socket follows from the kernel's where that is lower.
    facts = (name, "tcp.accept_limit") if name == "tcp.somaxconn" else (name,)
    return Seen(how[name], facts, lands)


FIXES = (
    FixKind(
        id="raise_backlog",
        title="Raise the backlog of listen()",
        precondition="A burst of connections that the server accepts before the next one.",
        landing=_raised("tcp.accept_limit"),
        measures=MEASURES,
        lab="accept-queue --apply raise_backlog",
    ),
    FixKind(
        id="raise_somaxconn",
        title="Raise net.core.somaxconn",
        precondition="A backlog that net.core.somaxconn caps.",
        landing=_raised("tcp.somaxconn"),
        measures=MEASURES,
    ),
    FixKind(
        id="more_acceptors",
        title="Accept connections in more threads or processes",
        precondition="A server that accepts connections more slowly than they arrive.",
        landing=_raised("tcp.listeners"),
        measures=MEASURES,
    ),
)

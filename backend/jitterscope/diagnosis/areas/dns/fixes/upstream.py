"""Fixes for an upstream that is slow by itself: ask another one, answer from old data, wait longer, hold less."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import is_dnsmasq
from jitterscope.diagnosis.areas.dns.readings.upstream_time import UpstreamTime
from jitterscope.diagnosis.core import predicted
from jitterscope.diagnosis.core.finding import Fix, Found, Interval, Patch, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, changed
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map, corefile
from jitterscope.diagnosis.programs import versions as dns_versions

# The longest wait for an upstream after which clients of glibc and Go still take the answer.
_CLIENTS_WAIT_S = 4
VERIFY = "The latency of the upstream, and of this server's answers, falls to its usual level."


def _without(found: Found, low: float, expected: float, high: float) -> Interval | None:
    return predicted.remaining(found, "slow_in_stalls", low, expected, high)


def _is_coredns(server: ResourceView) -> bool:
    return server.fact("dns.software") in ("coredns", "node-cache")


def another(snapshot: Snapshot, server: ResourceView, time: UpstreamTime, found: Found) -> Fix:
    address = time.edge.address
    if is_dnsmasq(server):
        change = f"-server={address}\n+server=OTHER\n+server=THIRD"
        text = Patch(label="Configuration of dnsmasq", language="diff", text=change)
        extra = "dnsmasq queries the fastest of several servers; --all-servers queries all at once."
    else:
        zone = time.edge.zone
        text = Patch(
            label="Corefile", language="diff",
            text=f"-forward {zone} {address}\n+forward {zone} OTHER THIRD {{\n+    policy sequential\n+}}",
        )  # fmt: skip
        extra = (
            "With policy sequential CoreDNS queries the first healthy server; one that answers late still counts as "
            "healthy."
        )
    return Fix(
        id="another_upstream",
        title="Use another upstream",
        summary=f"{address} is slow by itself, so nothing on this server makes its answers faster. {extra}",
        verdict="removes",
        predicted=predictions(slow_ratio=_without(found, 0.0, 0.05, 0.5)),
        precondition="Works only if another server answers the same names.",
        patches=[text],
        caveats=["Try the other one first (jitterscope dns-bench): names that are slow everywhere stay slow."],
        verify=VERIFY,
        undo=f"Restore {address} and reload.",
        references=["https://coredns.io/plugins/forward/", "https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html"],
    )


def serve_stale(snapshot: Snapshot, server: ResourceView, found: Found) -> Fix | None:
    """For a CoreDNS with a cache that does not do so yet."""
    if not _is_coredns(server):
        return None
    caches = [plugin for block in corefile.of(server) for plugin in block.plugins if plugin.name == "cache"]
    if any(option[0] == "serve_stale" for plugin in caches for option in plugin.options):
        return None
    gate = dns_versions.COREDNS_SERVE_STALE
    allowed = gate.open(dns_versions.of_server(server, "coredns"))
    base = {
        "id": "serve_stale",
        "title": "Serve expired answers from the cache (serve_stale)",
        "verify": VERIFY,
        "undo": "Remove the line and reload.",
        "references": ["https://coredns.io/plugins/cache/", gate.source, "https://www.rfc-editor.org/rfc/rfc8767"],
    }
    if allowed is False:
        return Fix(
            **base,
            verdict="cannot_help",
            summary=f"Cannot help: the cache plugin has no serve_stale before CoreDNS {gate.since_text}.",
        )
    text = "cache 30 {\n    serve_stale 1h\n}"
    edits = (
        config_map.options(server, "cache", {"serve_stale": "1h"})
        if caches
        else config_map.plugin(corefile.with_plugin(corefile.of(server), "forward"), text)
    )
    return Fix(
        **base,
        verdict="reduces",
        summary="Names that were answered before get their old answer at once while a new one is fetched.",
        precondition=None if allowed else f"Requires CoreDNS {gate.since_text} or later.",
        patches=config_map.with_command(
            snapshot,
            server,
            edits,
            Patch(label="Corefile", language="corefile", text=text),
        ),
        caveats=["Clients get old addresses for up to the given time."],
    )


def _in_forward(text: str) -> Patch:
    return Patch(label="In forward", language="corefile", text=text)


def read_timeout(snapshot: Snapshot, server: ResourceView, mean_us: float, found: Found) -> Fix | None:
    """Where answers come, but after CoreDNS has given the attempt up (2 s)."""
    if not _is_coredns(server) or not 1_500_000 <= mean_us <= 1e6 * _CLIENTS_WAIT_S:
        return None
    gate = dns_versions.COREDNS_READ_TIMEOUT
    allowed = gate.open(dns_versions.of_server(server, "coredns"))
    # No longer than clients wait: they give up after 5 s.
    seconds = min(_CLIENTS_WAIT_S, math.ceil(1.5 * mean_us / 1e6))
    base = {
        "id": "read_timeout",
        "title": f"Wait longer for the upstream (read_timeout {seconds}s)",
        "verify": "SERVFAIL answers stop; answers stay late.",
        "undo": "Remove the line and reload.",
        "references": ["https://coredns.io/plugins/forward/", gate.source],
    }
    if allowed is False:
        return Fix(
            **base, verdict="cannot_help",
            summary=f"Cannot help: before CoreDNS {gate.since_text} the timeout of an attempt is fixed at 2 s.",
        )  # fmt: skip
    return Fix(
        **base,
        verdict="reduces",
        summary="CoreDNS gives up an attempt after 2 s and retries, which doubles the load of an upstream that "
        "would have answered. Late answers then replace failures.",
        precondition=None if allowed else f"Requires CoreDNS {gate.since_text} or later.",
        patches=config_map.with_command(
            snapshot,
            server,
            config_map.options(server, "forward", {"read_timeout": f"{seconds}s"}),
            _in_forward(f"read_timeout {seconds}s"),
        ),
        caveats=["Clients themselves still give up after 5 s."],
    )


def max_concurrent(
    snapshot: Snapshot, server: ResourceView, time: UpstreamTime, mean_us: float, found: Found
) -> Fix | None:
    """Bounds what waits in memory: refused at once instead of failed late. Sized by Little's law."""
    if not _is_coredns(server):
        return None
    if time.edge.upstream is not None and time.edge.upstream.max_concurrent is not None:
        return None
    gate = dns_versions.COREDNS_MAX_CONCURRENT
    version = dns_versions.of_server(server, "coredns")
    rate = float(np.nansum(time.answers)) / max(1.0, float((time.answers > 0).sum()))
    base = {
        "id": "max_concurrent",
        "title": "Limit the queries in flight (max_concurrent)",
        "verify": "Memory stays flat while the upstream is slow; coredns_forward_max_concurrent_rejects_total counts "
        "refused queries.",
        "undo": "Remove the line and reload.",
        "references": ["https://coredns.io/plugins/forward/", gate.source],
    }
    if gate.open(version) is False:
        return Fix(
            **base, verdict="cannot_help", summary=f"Cannot help: no max_concurrent before CoreDNS {gate.since_text}."
        )
    usual = time.usual_us if time.usual_us is not None else mean_us
    number = max(100, math.ceil(4 * rate * usual / 1e6 / 100) * 100)
    result = "REFUSED" if dns_versions.COREDNS_MAX_CONCURRENT_REFUSES.open(version) is not False else "SERVFAIL"
    return Fix(
        **base,
        verdict="unknown",
        summary=f"It makes nothing faster but limits the harm: each waiting query holds memory, and beyond {number} "
        f"of them clients get {result} at once. {rate:,.0f} queries/s × the upstream's usual latency needs far fewer.",
        precondition=None if gate.open(version) else f"Requires CoreDNS {gate.since_text} or later.",
        patches=config_map.with_command(
            snapshot,
            server,
            config_map.options(server, "forward", {"max_concurrent": number}),
            _in_forward(f"max_concurrent {number}"),
        ),
        caveats=["It also refuses queries for names that the upstream would answer quickly."],
    )


def more_connections(snapshot: Snapshot, server: ResourceView) -> Fix | None:
    """A well-known fix that cannot help here: a dnsmasq that runs out of children because its upstream is slow."""
    if not is_dnsmasq(server):
        return None
    return Fix(
        id="more_connections",
        title="Serve more TCP connections (--max-tcp-connections or replicas)",
        summary="Cannot help: more connections only mean that more queries wait for the same slow upstream.",
        verdict="cannot_help",
        verify=VERIFY,
        undo="Nothing to undo.",
        references=["https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html"],
    )


def _asks_another(before: Facts, after: Facts) -> bool:
    """Addresses that were not asked before; those that were may stay."""
    old, new = landing.addresses(before), landing.addresses(after)
    same = not landing.blocks(before) and changed(before, after, "dns.arguments")
    return bool(old) and bool(new - old) and (
        same or landing.only_corefile(before, after, "forward", ("policy",), arguments=True)
    )  # fmt: skip


_SLOW = ("mean_ms", "overdue_ratio", "failed_ratio", "slow_ratio")
FIXES = (
    FixKind(
        id="more_connections",
        title="Serve more TCP connections",
        precondition="None: it cannot help against a slow upstream, and is listed because it is often tried.",
        landing=Seen(
            "dnsmasq's limit of concurrent TCP connections rises, and dnsmasq restarts with the new argument.",
            ("dns.child_limit", "dns.arguments"),
            lambda before, after: landing.rises(before, after, "dns.child_limit"),
        ),
        measures=_SLOW,
        lab="nodelocal-dnsmasq --variant slow-upstream --apply more_connections",
    ),
    FixKind(
        id="another_upstream",
        title="Use another upstream",
        precondition="Another server answers the same names.",
        landing=landing.in_corefile(
            "The server forwards to an address that it did not use before.", _asks_another, *landing.DNSMASQ
        ),
        measures=_SLOW,
        lab="nodelocal-dnsmasq --variant slow-upstream --apply another_upstream",
    ),
    FixKind(
        id="serve_stale",
        title="Serve expired answers from the cache (serve_stale)",
        precondition="CoreDNS 1.6.6 or later.",
        landing=landing.in_corefile(
            "cache in the Corefile gets serve_stale, or a different time for it.", landing.sets("cache", "serve_stale")
        ),
        measures=_SLOW,
    ),
    FixKind(
        id="read_timeout",
        title="Wait longer for the upstream (read_timeout)",
        precondition="CoreDNS 1.14.5 or later, and an upstream that takes more than 2 s.",
        landing=landing.in_corefile(
            "forward in the Corefile gets read_timeout, or a different time for it.",
            landing.sets("forward", "read_timeout"),
        ),
        measures=("servfail_ratio", "failed_ratio"),
    ),
    FixKind(
        id="max_concurrent",
        title="Limit the queries in flight (max_concurrent)",
        precondition="CoreDNS 1.6.8 or later.",
        landing=landing.in_corefile(
            "forward in the Corefile gets max_concurrent, or a different number for it.",
            landing.sets("forward", "max_concurrent"),
        ),
        measures=("timeout_ratio", "overdue_ratio", "mean_ms"),
    ),
)

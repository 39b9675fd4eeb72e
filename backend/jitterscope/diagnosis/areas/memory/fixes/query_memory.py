"""Fixes for queries that outgrow memory: bound how many wait, shed load, spread it; and a plugin that never came."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.memory.readings import settings
from jitterscope.diagnosis.areas.memory.readings.query_waits import concurrency_cap, forward_blocks, forwards
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import Burst
from jitterscope.diagnosis.areas.memory.whatif.load import load_of
from jitterscope.diagnosis.areas.memory.whatif.query_burst import (
    MARGIN,
    MemoryForecast,
    MemoryLoad,
    figures,
    forecast,
    largest_cap,
    needed_replicas,
    round_down,
)
from jitterscope.diagnosis.core import owners, patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import MORE_PODS, Facts, FixKind, Seen, Unseen
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map, corefile
from jitterscope.diagnosis.programs import versions as dns_versions
from jitterscope.diagnosis.programs.dns_upstreams import upstreams

FORWARD = "https://coredns.io/plugins/forward/"
THROTTLE = "https://github.com/coredns/coredns/pull/2706"
SHED = "https://coredns.io/plugins/shed/"
VERIFY = "Under the next burst memory stays below the limit, and nothing is killed."
# How often the usual number of waiting queries a cap must allow, so that it only acts in a burst.
ROOM = 2.0
# What forward's documentation reckons for each concurrent query.
DOCUMENTED_BYTES = 2048


def propose(snapshot: Snapshot, burst: Burst, limit: float) -> list[Fix]:
    load = load_of(burst, limit)
    server = next((view for view in snapshot.dns_servers if _is_coredns(view)), None)
    found: list[Fix | None] = []
    if server is not None:
        found += [_max_concurrent(snapshot, server, burst, load), _shed(snapshot, server, burst), _throttle()]
    return [fix for fix in [*found, _replicas(snapshot, burst, load)] if fix is not None]


def _is_coredns(server: ResourceView) -> bool:
    return server.fact("dns.software") in ("coredns", "node-cache")


def _max_concurrent(snapshot: Snapshot, server: ResourceView, burst: Burst, load: MemoryLoad) -> Fix | None:
    gate, refuses = dns_versions.COREDNS_MAX_CONCURRENT, dns_versions.COREDNS_MAX_CONCURRENT_REFUSES
    version = dns_versions.of_server(server, "coredns")
    now, blocks = concurrency_cap(snapshot), forward_blocks(snapshot)
    number = largest_cap(load, blocks)
    least = ROOM * burst.usual / blocks
    answer = "SERVFAIL" if refuses.open(version) is False else "REFUSED"
    base = {
        "id": "max_concurrent",
        "verify": f"{VERIFY} coredns_forward_max_concurrent_rejects_total counts refused queries.",
        "undo": f"Restore max_concurrent {now} and reload." if now else "Remove the line and reload.",
        "references": [FORWARD, gate.source, refuses.source, "https://github.com/coredns/coredns/issues/3635"],
    }
    if gate.open(version) is False:
        return Fix(**base, title="forward max_concurrent", verdict="cannot_help",
                   summary=f"Cannot help: no max_concurrent before CoreDNS {gate.since_text}.")  # fmt: skip
    if number < 1:
        return Fix(
            **base,
            title="forward max_concurrent",
            verdict="cannot_help",
            summary=f"Cannot help: the server needs {say.mebibytes(load.base_bytes)} without any waiting query, so no "
            f"number of them leaves a fifth of {say.mebibytes(load.limit_bytes)} free. Raise the limit first.",
        )
    if now is not None and now <= number * blocks:
        return None
    said = forecast(load, number * blocks)
    each = load.per_query_bytes[1]
    summary = (
        f"({say.percent(1 - MARGIN)} of {say.mebibytes(load.limit_bytes)} − {say.mebibytes(load.base_bytes)}) ÷ "
        f"({each / 1024:,.1f} KiB × {load.garbage:g} for garbage)"
        + (f" ÷ {blocks} forward blocks" if blocks > 1 else "")
        + f" = {number:,}. {_stays(said)}{_above(load, number * blocks)}Excess queries get {answer} immediately."
    )
    caveats = [
        f"The documentation assumes {DOCUMENTED_BYTES // 1024} KiB per query. Measured here: {each / 1024:,.1f} KiB, "
        "for the whole server.",
        "It counts forwarded queries only: names from the cache or another plugin are still answered.",
    ]
    if blocks > 1:
        caveats.append(f"Each of the {blocks} forward blocks counts separately: set it in all of them.")
    if number < least:
        caveats.append(
            f"Usually {burst.usual:,.0f} queries wait: a cap of {number:,} also refuses queries outside bursts. Raise "
            "the memory limit, or make the upstream faster."
        )
    edits = config_map.options(server, "forward", {"max_concurrent": number})
    title = f"forward max_concurrent {number}" + (f" instead of {now}" if now is not None and blocks == 1 else "")
    return Fix(
        **base,
        title=title,
        verdict="removes" if said.outcome == "survives" and number >= least else "reduces",
        summary=summary,
        predicted=figures(said),
        precondition=None if gate.open(version) else f"Requires CoreDNS {gate.since_text} or later.",
        patches=config_map.with_command(
            snapshot,
            server,
            edits,
            Patch(label="Corefile", language="corefile", text=_block(server, number)),
        ),
        caveats=caveats,
    )


def _stays(said: MemoryForecast) -> str:
    if said.peak_bytes is None:
        return ""
    return f"Memory then stays between {say.mebibytes(said.peak_bytes.low)} and {say.mebibytes(said.peak_bytes.high)}. "


def _above(load: MemoryLoad, cap: int) -> str:
    """The least of some multiples of a cap under which the same burst ends in a kill, and when; "" where none does."""
    for times in (2, 4, 8):
        said = forecast(load, times * cap)
        if said.outcome == "killed" and said.seconds_to_oom is not None:
            low, high = said.seconds_to_oom.low, said.seconds_to_oom.high
            return f"With {times * cap:,} it would be killed {low:.1f} to {high:.1f} s after such a burst begins. "
    return ""


def _block(server: ResourceView, number: int) -> str:
    """The server's own forward line where its Corefile is known."""
    for block in corefile.of(server):
        plugin = block.plugin("forward")
        if plugin is None:
            continue
        options = [" ".join(option) for option in plugin.options if option and option[0] != "max_concurrent"]
        lines = "\n".join(f"    {line}" for line in [*options, f"max_concurrent {number}"])
        return f"forward {' '.join(plugin.arguments)} {{\n{lines}\n}}"
    named = upstreams(server)
    target = f"{named[0].zone} {named[0].endpoint}" if named else ". UPSTREAM"
    return f"forward {target} {{\n    max_concurrent {number}\n}}"


def _shed(snapshot: Snapshot, server: ResourceView, burst: Burst) -> Fix | None:
    """It sheds when answers cannot be written fast enough; queries that wait for an upstream do not fill its stack."""
    gate = dns_versions.COREDNS_SHED
    allowed = gate.open(dns_versions.of_server(server, "coredns"))
    if any(block.plugin("shed") for block in corefile.of(server)):
        return None
    base = {
        "id": "shed",
        "title": "Add the shed plugin",
        "verify": f"{VERIFY} coredns_shed_dropped_total counts what is dropped.",
        "undo": "Remove the line and reload.",
        "references": [gate.source, SHED],
    }
    if allowed is False:
        return Fix(**base, verdict="cannot_help", summary=f"Cannot help: no shed before CoreDNS {gate.since_text}.")
    if forwards(server) and burst.bound != "none":
        return Fix(
            **base,
            verdict="cannot_help",
            summary="Cannot help: it drops queries while answers cannot be written to the socket fast enough (a stack "
            "of 1,024 per socket). Queries that wait for an upstream are not in that stack, so it would drop nothing "
            "here.",
        )
    return Fix(
        **base,
        verdict="reduces",
        summary="While answers cannot be written to the socket fast enough, it drops new queries before any plugin "
        "sees them, without an answer. It takes no argument.",
        precondition=None if allowed else f"Requires CoreDNS {gate.since_text} or later.",
        patches=config_map.with_command(
            snapshot,
            server,
            config_map.plugin(corefile.of(server), "shed"),
            Patch(label="Corefile, above prometheus", language="corefile", text="shed"),
        ),
        caveats=[
            "UDP only, and silent: clients retry after their timeout.",
            "Queries that wait for an upstream do not count: limit those with max_concurrent.",
        ],
    )


def _throttle() -> Fix:
    return Fix(
        id="throttle",
        title="Add the throttle plugin",
        verdict="cannot_help",
        summary="Cannot help: it was proposed for this fault in 2019 and never merged. No release of CoreDNS has it, "
        "and a Corefile that names it does not start. max_concurrent took its place.",
        verify="Nothing to see: it does not exist.",
        undo="Nothing to undo.",
        references=[THROTTLE, "https://github.com/coredns/coredns/issues/2593"],
    )


def _replicas(snapshot: Snapshot, burst: Burst, load: MemoryLoad) -> Fix | None:
    target, owner = needed_replicas(load), owners.of(snapshot)
    if target is None or patches.manager(snapshot) != "kubernetes" or not owner.can_scale:
        return None
    namespace = snapshot.subject.fact("workload.namespace") or "NAMESPACE"
    each = burst.ceiling / target
    many = f"{target} times as many replicas"
    silly = " That is a lot of memory for a burst: also cap concurrent queries." if target >= 5 else ""
    return Fix(
        id="more_replicas",
        title=f"More replicas: {target} times as many",
        verdict="reduces",
        summary=f"{math.ceil(burst.ceiling):,} queries can wait; over {many} that is {round_down(each):,} "
        f"each, which fits into {say.percent(1 - MARGIN)} of {say.mebibytes(load.limit_bytes)}.{silly}",
        precondition="Works only if clients spread over the replicas (a Service does so per connection or UDP flow).",
        patches=[
            Patch(
                label="kubectl, where no autoscaler sets the number",
                language="shell",
                text=f"kubectl -n {namespace} scale {owner} --replicas=$(( {target} * $(kubectl -n {namespace} get "
                f"{owner} -o jsonpath='{{.spec.replicas}}') ))",
            )
        ],
        caveats=["All replicas wait for the same upstream: if it is slow for all, each still fills up, only later."],
        verify=VERIFY,
        undo=f"Scale {owner} back to the number of replicas it had.",
        references=["https://kubernetes.io/docs/tasks/administer-cluster/dns-horizontal-autoscaling/"],
    )


def _bounded(before: Facts, after: Facts) -> bool:
    """Fewer queries may wait than before."""
    old, new = settings.concurrency(before), settings.concurrency(after)
    return old is not None and new is not None and new < old


def _sheds(before: Facts, after: Facts) -> bool:
    return settings.has_plugin(after, "shed") and not settings.has_plugin(before, "shed")


_KILLS = ("oom_kills_per_h", "near_limit_ratio")
_COREFILE = ("dns.corefile", "dns.corefile_parsed", "dns.upstreams")
FIXES = (
    FixKind(
        id="max_concurrent",
        title="Set max_concurrent of forward",
        precondition="CoreDNS 1.6.8 or later.",
        landing=Seen("max_concurrent appears in the Corefile, or becomes lower.", _COREFILE, _bounded),
        measures=_KILLS,
        lab="coredns-oom --apply max_concurrent",
    ),
    FixKind(
        id="shed",
        title="Add the shed plugin",
        precondition="A CoreDNS that has the plugin, and queries that wait for the socket rather than for an upstream.",
        landing=Seen("The plugin shed appears in the Corefile.", _COREFILE, _sheds),
        measures=_KILLS,
    ),
    FixKind(
        id="throttle",
        title="Add the throttle plugin",
        precondition="Cannot help: no release of CoreDNS has it.",
        landing=Unseen("No release of CoreDNS has this plugin."),
        measures=_KILLS,
    ),
    FixKind(
        id="more_replicas",
        title="Run more replicas",
        precondition="A controller that manages replicas, and clients that spread over them.",
        landing=MORE_PODS,
        measures=_KILLS,
    ),
)

"""Fixes where a resolver limits the rate: send fewer queries on, from more addresses, or to others."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.fixes import search_domains
from jitterscope.diagnosis.areas.dns.readings.amplification import amplification
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, changed
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map, corefile
from jitterscope.diagnosis.programs import versions as dns_versions
from jitterscope.diagnosis.programs.corefile import Block, Plugin
from jitterscope.diagnosis.programs.dns_upstreams import upstreams
from jitterscope.diagnosis.programs.resolver_limits import AWS, GOOGLE, Limit

CACHE, FORWARD = "https://coredns.io/plugins/cache/", "https://coredns.io/plugins/forward/"
DNSMASQ = "https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html"
MANIFEST = "https://github.com/kubernetes/kubernetes/blob/master/cluster/addons/dns/coredns/coredns.yaml.base"
NODELOCAL = "https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/"
VERIFY = "Queries sent upstream stay below the limit, and SERVFAIL and REFUSED stop."
# A rate this far below the limit leaves room for the next busy hour.
ROOM = 0.7


@dataclass(frozen=True, slots=True)
class Load:
    """Rates in queries/s at the busiest two seconds; `sent_ratio` of what is asked is sent on, 0..1."""

    peak_per_s: float
    limit_per_s: float
    sent_ratio: float
    limit: Limit | None
    failed: float


def propose(snapshot: Snapshot, load: Load) -> list[Fix]:
    server = next((view for view in snapshot.dns_servers if upstreams(view)), None)
    if server is None:
        return []
    proposals = [
        _cache(snapshot, server, load),
        _fewer_search_domains(snapshot, load),
        _from_each_node(snapshot, load),
        _other_resolvers(server, load),
        _max_concurrent(snapshot, server, load),
    ]
    return [fix for fix in proposals if fix is not None]


def _cache(snapshot: Snapshot, server: ResourceView, load: Load) -> Fix | None:
    """What the cache would have to answer so that the rest fits; by software."""
    asked = load.peak_per_s / max(load.sent_ratio, 1e-6)
    needed = max(0.0, 1 - ROOM * load.limit_per_s / asked)
    now = 1 - load.sent_ratio
    software = server.fact("dns.software")
    if software == "dnsmasq":
        patches_ = [Patch(label="Command line of dnsmasq", language="diff", text="+--cache-size=10000")]
        references = [DNSMASQ]
    elif software in ("coredns", "node-cache"):
        blocks = [block for block in corefile.of(server) if block.plugin("forward")]
        plugin = next((found for block in blocks if (found := block.plugin("cache"))), None)
        if plugin is not None and any(option[0] == "prefetch" for option in plugin.options):
            return None
        patches_ = _coredns_cache(snapshot, server, blocks, plugin)
        references = [CACHE]
    else:
        return None
    return Fix(
        id="cache_more",
        title="Answer more from the cache",
        summary=f"The cache answers {say.percent(now)} of the queries. With {say.percent(needed)}, the rest stays at "
        f"{say.percent(ROOM)} of the limit.",
        verdict="reduces",
        precondition="Works only if names are looked up again within their TTL: the DNS page shows how many names "
        "there are.",
        patches=patches_,
        caveats=["Answers are kept no longer than their own TTL: a longer one is not forced on them."],
        verify=VERIFY,
        undo="Restore the previous cache settings.",
        references=references,
    )


def _coredns_cache(snapshot: Snapshot, server: ResourceView, blocks: list[Block], plugin: Plugin | None) -> list[Patch]:
    """Options of the cache that is there (others stay, such as kubeadm's `disable` for its zone), or a new one."""
    bare = [block for block in blocks if block.plugin("cache") is None]
    whole = "cache 300 {\n    success 9984 300\n    denial 9984 30\n    prefetch 10 1m 10%\n}"
    if plugin is None:
        patch = Patch(label="Corefile, in the block that forwards", language="corefile", text=whole)
        return config_map.with_command(snapshot, server, config_map.plugin(bare, whole), patch)
    options = {"success": "9984 300", "prefetch": "10 1m 10%"}
    edits = [*config_map.options(server, "cache", options), *config_map.plugin(bare, whole)]
    text = "\n".join(f"{name} {value}" for name, value in options.items())
    patch = Patch(label="Corefile, options of cache in the block that forwards", language="corefile", text=text)
    return config_map.with_command(snapshot, server, edits, patch)


def _fewer_search_domains(snapshot: Snapshot, load: Load) -> Fix | None:
    found = amplification(snapshot)
    share = found.wasted / max(1, found.queries)
    if share < 0.2:
        return None
    fix = search_domains.ndots(snapshot, found) or search_domains.trailing_dot(found)
    return fix.model_copy(
        update={
            "summary": f"{say.percent(share)} of the queries are NXDOMAIN steps of search lists. {fix.summary}",
            "verdict": "removes" if (1 - share) * load.peak_per_s <= ROOM * load.limit_per_s else "reduces",
        }
    )


def _from_each_node(snapshot: Snapshot, load: Load) -> Fix | None:
    """The limit of AWS counts network interfaces: a cache on each node spreads the load over all of them."""
    local = any(view.fact("dns.software") == "node-cache" for view in snapshot.dns_servers)
    if load.limit is not AWS or local or "kube.server_version" not in {fact.name for fact in snapshot.node.facts}:
        return None
    need = math.ceil(load.peak_per_s / (ROOM * load.limit_per_s))
    return Fix(
        id="nodelocal_dnscache",
        title="Run NodeLocal DNSCache: each node queries for itself",
        summary=f"The limit counts per network interface. With a cache on each node that forwards external names "
        f"directly to the VPC's resolver, the rate spreads over the nodes: {say.count(need, 'node')} or more can carry "
        "this rate.",
        verdict="reduces",
        precondition="Works only if the block for `.` of its Corefile forwards to /etc/resolv.conf or the VPC's "
        "resolver, not to CoreDNS.",
        patches=[
            Patch(
                label="node-local-dns Corefile",
                language="corefile",
                text=".:53 {\n    cache 30\n    forward . /etc/resolv.conf\n}",
            )
        ],
        verify=VERIFY,
        undo="Remove the DaemonSet node-local-dns.",
        references=[NODELOCAL, AWS.source],
    )


def _other_resolvers(server: ResourceView, load: Load) -> Fix:
    more = math.ceil(load.peak_per_s / (ROOM * load.limit_per_s))
    text, caveat = _advice(load.limit)
    dnsmasq = server.fact("dns.software") == "dnsmasq"
    return Fix(
        id="more_resolvers",
        title="Use more resolvers, or more source addresses",
        summary=f"{text} This rate needs {say.count(more, 'limit')} of {load.limit_per_s:,.0f} queries/s.",
        verdict="reduces",
        precondition="Works only if external names resolve the same everywhere (no private zones at only one of them).",
        patches=[
            Patch(
                label="Command line of dnsmasq",
                language="shell",
                text="--server=/ZONE_ASKED_MOST/RESOLVER_2 --server=RESOLVER_1",
            )
            if dnsmasq
            else Patch(
                label="Corefile",
                language="corefile",
                text="forward . RESOLVER_1 RESOLVER_2 {\n    policy round_robin\n}",
            )
        ],
        caveats=[caveat, "dnsmasq prefers one of several servers: give the second its own zone."]
        if dnsmasq
        else [caveat],
        verify=VERIFY,
        undo="Restore the previous resolvers.",
        references=[load.limit.source if load.limit is not None else FORWARD],
    )


def _advice(limit: Limit | None) -> tuple[str, str]:
    """(what to do, what to know) by who limits."""
    if limit is GOOGLE:
        return (
            "Request a higher limit with Google's form, use the cloud provider's resolver, or send from more public "
            "addresses.",
            "8.8.8.8 and 8.8.4.4 are one operator: naming both does not double the limit. On Google Cloud, "
            "169.254.169.254 answers, but no limit is published for it.",
        )
    if limit is AWS:
        return (
            "Spread the forwarders over more instances or network interfaces; the limit itself cannot be raised.",
            "A Route 53 Resolver endpoint answers about 10,000 queries/s per interface, but for outside networks.",
        )
    return (
        "Add resolvers with limits of their own, or have the limit of this one raised.",
        "Resolvers behind one address count as one.",
    )


def _max_concurrent(snapshot: Snapshot, server: ResourceView, load: Load) -> Fix | None:
    """Bounds what is lost in time, not the loss: only where queries wait for nothing and no bound is set."""
    bounded = any(upstream.max_concurrent for upstream in upstreams(server))
    if server.fact("dns.software") != "coredns" or bounded or not load.failed:
        return None
    gate = dns_versions.COREDNS_MAX_CONCURRENT
    if gate.open(dns_versions.of_server(server, "coredns")) is False:
        return None
    value = 1000  # Kubernetes' own manifest
    refuses = dns_versions.COREDNS_MAX_CONCURRENT_REFUSES
    word = "SERVFAIL" if refuses.open(dns_versions.of_server(server, "coredns")) is False else "REFUSED"
    return Fix(
        id="max_concurrent",
        title=f"max_concurrent {value}",
        summary=f"Does not raise the limit: excess queries get {word} immediately instead of SERVFAIL after 5 s, and "
        "no longer add retries to the rate.",
        verdict="reduces",
        precondition=None
        if gate.open(dns_versions.of_server(server, "coredns"))
        else f"Requires CoreDNS {gate.since_text} or later.",
        patches=config_map.with_command(
            snapshot,
            server,
            config_map.options(server, "forward", {"max_concurrent": value}),
            Patch(label="Corefile", language="corefile", text=f"forward . … {{\n    max_concurrent {value}\n}}"),
        ),
        caveats=["Below rate × latency of the upstream, it refuses queries that would have been answered."],
        verify="coredns_forward_max_concurrent_rejects_total counts refused queries. Late SERVFAIL stop.",
        undo="Remove the line.",
        references=[FORWARD, gate.source, refuses.source, MANIFEST],
    )


def _caches_more(before: Facts, after: Facts) -> bool:
    if landing.blocks(before):
        old_s, new_s = (_longest_s(facts) for facts in (before, after))
        names = (
            {option[0] for one in landing.plugins(facts, "cache") for option in one.options}
            for facts in (before, after)
        )
        lost = next(names) - next(names)
        return new_s >= old_s and not lost and landing.only_corefile(before, after, "cache")
    old, new = (_cache_size(facts.get("dns.arguments") or "") for facts in (before, after))
    return new > old


def _options(facts: Facts) -> set[str]:
    return {option[0] for one in landing.plugins(facts, "cache") for option in one.options}


def _longest_s(facts: Facts) -> int:
    """What CoreDNS keeps an answer at most: an hour unless the line says less; 0 without a cache."""
    found = landing.plugins(facts, "cache")
    given = [int(one.arguments[0]) if one.arguments[:1] and one.arguments[0].isdecimal() else 3600 for one in found]
    return max(given, default=0)


def _cache_size(arguments: str) -> int:
    """Of dnsmasq; 150 unless it is given."""
    words = arguments.replace("=", " ").split()
    given = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("--cache-size", "-c")]
    return int(given[-1]) if given and given[-1].isdecimal() else 150


def _more_upstreams(before: Facts, after: Facts) -> bool:
    old, new = landing.addresses(before), landing.addresses(after)
    by_corefile = landing.only_corefile(before, after, "forward", ("policy",), arguments=True)
    return len(new) > len(old) > 0 and (by_corefile or changed(before, after, "dns.arguments"))


_FAILED = ("failed_ratio", "overdue_ratio", "sent_on_per_s")
FIXES = (
    FixKind(
        id="cache_more",
        title="Answer more from the cache",
        precondition="Names are looked up again within their TTL.",
        landing=landing.in_corefile(
            "cache in the Corefile keeps answers longer or gets options, and nothing else in it changes; or "
            "--cache-size of dnsmasq rises.",
            _caches_more,
            "dns.negative_cache",
            *landing.DNSMASQ,
        ),
        measures=("sent_on_ratio", *_FAILED),
        lab="dns-forward --apply cache_more",
    ),
    FixKind(
        id="more_resolvers",
        title="Spread the queries over more resolvers",
        precondition="External names resolve the same everywhere.",
        landing=landing.in_corefile(
            "The server forwards to more addresses than before.", _more_upstreams, *landing.DNSMASQ
        ),
        measures=_FAILED,
        lab="dns-forward --apply more_resolvers",
    ),
)

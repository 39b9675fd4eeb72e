"""Fix: let the server remember that a name does not exist (RFC 2308), by what it is and who manages it."""

from __future__ import annotations

import shlex

from jitterscope.diagnosis.areas.dns import settings
from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.fixes import transport as dns_transport
from jitterscope.diagnosis.core import owners, patches
from jitterscope.diagnosis.core.finding import Fix, Found, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, Unseen, changed
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map, corefile
from jitterscope.diagnosis.programs import versions as dns_versions

CACHE = "https://coredns.io/plugins/cache/"
DNSMASQ = "https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html"
RFC = "https://www.rfc-editor.org/rfc/rfc2308"
VERIFY = "The number of NXDOMAIN answers stays the same, and the server sends fewer queries upstream."
UNDO_COREDNS = "Revert the change and let CoreDNS reload."


def server_without(snapshot: Snapshot) -> ResourceView | None:
    """The subject's server whose settings say that denials are not remembered."""
    return next((view for view in snapshot.dns_servers if view.fact("dns.negative_cache") == "no"), None)


def propose(snapshot: Snapshot, effect: str, server: ResourceView | None = None) -> Fix | None:
    """None where denials are remembered, or where it is not known how this server is told to."""
    server = server or server_without(snapshot)
    if server is None:
        return None
    software = server.fact("dns.software")
    if software == "dnsmasq":
        return _dnsmasq(snapshot, server, effect)
    return _coredns(snapshot, server, effect) if software in ("coredns", "node-cache") else None


def _dnsmasq(snapshot: Snapshot, server: ResourceView, effect: str) -> Fix | None:
    arguments = (server.fact("dns.arguments") or "").split()
    given = next((word for word in arguments if word in ("--no-negcache", "-N")), None)
    if given is None:
        return None
    gke = dns_versions.gke(snapshot)
    if gke is not None:
        newer = dns_versions.GKE_KUBE_DNS_ON_COREDNS
        return Fix(
            id="negative_cache",
            title="Run dnsmasq without --no-negcache",
            summary="Cannot help on GKE: kube-dns is managed and its arguments are reset. "
            f"From GKE {newer.since_text} on {newer.what}; Cloud DNS for GKE also caches negative answers.",
            verdict="cannot_help",
            verify="-",
            undo="-",
            references=[newer.source, DNSMASQ],
        )
    return Fix(
        id="negative_cache",
        title="Run dnsmasq without --no-negcache",
        summary=f"{effect} dnsmasq caches a negative answer for as long as its SOA record says. --neg-ttl sets the "
        "time for answers without one.",
        verdict="reduces",
        patches=[_dnsmasq_patch(snapshot, given)],
        caveats=[
            "A new name is not found until its negative answer expires: choose a short --neg-ttl inside a cluster."
        ],
        verify=VERIFY + " dnsmasq counts them: misses.bind.",
        undo=f"Restore {given}.",
        references=[DNSMASQ, RFC],
    )


def _dnsmasq_patch(snapshot: Snapshot, given: str) -> Patch:
    kind = patches.manager(snapshot)
    if kind == "kubernetes":
        space = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
        owner = owners.of(snapshot)
        return Patch(
            label=f"kubectl -n {space} edit {owner}: arguments of the container dnsmasq",
            language="diff",
            text=f"-        - {given}\n+        - --neg-ttl=30",
        )
    if kind == "systemd":
        return Patch(
            label="/etc/dnsmasq.conf or /etc/dnsmasq.d, then restart the unit",
            language="diff",
            text="-no-negcache\n+neg-ttl=30",
        )
    return Patch(label="Command line of dnsmasq", language="diff", text=f"-{given}\n+--neg-ttl=30")


def _coredns(snapshot: Snapshot, server: ResourceView, effect: str) -> Fix | None:
    blocks = corefile.of(server)
    bare = [block for block in blocks if block.plugin("forward") and not block.plugin("cache")]
    disabled = [
        block
        for block in corefile.with_plugin(blocks, "cache")
        if any(option == ("disable", "denial") for plugin in block.plugins if plugin.name == "cache"
               for option in plugin.options)
    ]  # fmt: skip
    # The edit removes every line of that name: not where another one disables caching of some zones on purpose.
    others = any(option[0] == "disable" and option != ("disable", "denial")
                 for block in blocks for plugin in block.plugins if plugin.name == "cache"
                 for option in plugin.options)  # fmt: skip
    if bare:
        where, text = bare[0], "+cache 30"
        edits = config_map.plugin(bare[:1], "cache 30")
        what = "`cache` keeps answers and negative answers for at most 30 s."
    elif disabled:
        where, text = disabled[0], " cache {\n-    disable denial\n+    denial 9984 30\n }"
        edits = [] if others else config_map.options(server, "cache", {"denial": "9984 30"}, without=("disable",))
        what = "`denial 9984 30` keeps up to 9,984 negative answers for at most 30 s."
    else:
        return None
    return Fix(
        id="negative_cache",
        title="Cache negative answers in CoreDNS",
        summary=f"{effect} {what}",
        verdict="reduces",
        patches=config_map.with_command(
            snapshot,
            server,
            edits,
            Patch(label=f"Corefile, block {' '.join(where.keys)}", language="diff", text=text),
        ),
        caveats=[
            "A new name is not found until its negative answer expires.",
            "A managed add-on (EKS, AKS) resets its Corefile unless it is changed there.",
        ],
        verify=VERIFY + ' CoreDNS counts them: coredns_cache_hits_total{type="denial"}.',
        undo=UNDO_COREDNS,
        references=[CACHE, RFC],
    )


def elsewhere(snapshot: Snapshot, found: Found) -> Fix | None:
    """Somebody else remembers: Cloud DNS on GKE, else NodeLocal DNSCache, with the price that it can have."""
    server = server_without(snapshot)
    if server is None or server.fact("dns.software") != "dnsmasq" or patches.manager(snapshot) != "kubernetes":
        return None
    if (cloud := dns_transport.cloud_dns(snapshot, found)) is not None:
        return cloud.model_copy(
            update={
                "summary": "Cloud DNS answers instead of kube-dns and caches negative answers.",
                "verdict": "reduces",
                "predicted": {},
                "verify": VERIFY,
            }
        )
    if any(view.fact("dns.software") == "node-cache" for view in (*snapshot.dns_servers, *snapshot.neighbours)):
        return None
    return Fix(
        id="nodelocal_dnscache",
        title="Run NodeLocal DNSCache",
        summary="A cache on each node caches negative answers (`denial 9984 5` in its default Corefile) in front of "
        "dnsmasq.",
        verdict="reduces",
        precondition="Requires Kubernetes 1.18 or later.",
        caveats=[
            "It queries dnsmasq over TCP (force_tcp), which serves 20 concurrent connections: see "
            "dns/dnsmasq_connection_exhaustion before you turn it on."
        ],
        verify=VERIFY,
        undo="Remove the DaemonSet node-local-dns.",
        references=["https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/", CACHE],
    )


def stop_asking(names: tuple[tuple[str, int], ...]) -> Fix | None:
    """The other end: nobody needs names that do not exist."""
    if not names:
        return None
    listed = ", ".join(name for name, _ in names)
    return Fix(
        id="stop_asking",
        title="Stop looking up these names",
        summary=f"{listed}: a stale configuration, a typo, or a search-list step.",
        verdict="reduces",
        precondition="Works only if the program that looks them up is known: the DNS page lists clients by name.",
        verify="These names are gone from the table of names.",
        undo="Restore the names.",
        references=[RFC],
    )


def _caches_negative(before: Facts, after: Facts) -> bool:
    return landing.becomes("dns.negative_cache", "yes")(before, after) and (
        changed(before, after, "dns.arguments") or landing.only_corefile(before, after, "cache")
    )


def _gets_node_cache(before: Facts, after: Facts) -> bool:
    new = landing.software_in_front(after)
    return new is not None and "node-cache" in new and "node-cache" not in (landing.software_in_front(before) or ())


_REPEATS = ("sent_on_ratio", "sent_on_per_s", "overdue_ratio", "mean_ms")
FIXES = (
    FixKind(
        id="negative_cache",
        title="Cache negative answers",
        precondition="A dnsmasq with --no-negcache, or a CoreDNS without a cache for them; not where it is managed.",
        landing=landing.in_corefile(
            "dnsmasq starts without --no-negcache, or the Corefile gets cache, and nothing else in it changes.",
            _caches_negative,
            "dns.negative_cache",
            *landing.DNSMASQ,
        ),
        measures=_REPEATS,
        lab="dns-forward --variant no-negative-cache --apply negative_cache",
    ),
    FixKind(
        id="nodelocal_dnscache",
        title="Run NodeLocal DNSCache",
        precondition="Kubernetes 1.18 or later.",
        landing=Seen(
            "A node-cache appears among the node's servers that query this one.",
            (settings.IN_FRONT, settings.RESOLV_CONF),
            _gets_node_cache,
        ),
        measures=("sent_on_per_s", "failed_ratio", "overdue_ratio"),
    ),
    FixKind(
        id="stop_asking",
        title="Stop looking up names that do not exist",
        precondition="The program that looks them up is known.",
        landing=Unseen(
            "What a program looks up is not a setting: a name that it no longer looks up cannot be told from one that "
            "it is not looking up at the moment."
        ),
        measures=("nxdomain_ratio", *_REPEATS),
    ),
)

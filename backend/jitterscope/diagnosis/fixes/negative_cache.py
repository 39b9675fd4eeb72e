"""Fix: let the server remember that a name does not exist (RFC 2308), by what it is and who manages it."""

from __future__ import annotations

import shlex

from jitterscope.diagnosis import corefile, dns_versions
from jitterscope.diagnosis.finding import Fix, Found, Patch
from jitterscope.diagnosis.fixes import dns_transport, patches
from jitterscope.diagnosis.snapshot import ResourceView, Snapshot

CACHE = "https://coredns.io/plugins/cache/"
DNSMASQ = "https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html"
RFC = "https://www.rfc-editor.org/rfc/rfc2308"
VERIFY = "Answers with NXDOMAIN stay as many, and the queries that the server sends on fall."
UNDO_COREDNS = "Take the change back and let CoreDNS reload."


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
    return _coredns(server, effect) if software in ("coredns", "node-cache") else None


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
            title="dnsmasq without --no-negcache",
            summary="Cannot help on GKE: the deployment kube-dns is managed, and a change to dnsmasq's arguments is "
            "set back. "
            f"From GKE {newer.since_text} on {newer.what}; Cloud DNS for GKE remembers denials, too.",
            verdict="cannot_help",
            verify="-",
            undo="-",
            references=[newer.source, DNSMASQ],
        )
    return Fix(
        id="negative_cache",
        title="dnsmasq without --no-negcache",
        summary=f"{effect} dnsmasq remembers a denial for as long as its SOA record says; --neg-ttl sets it where "
        "there is none.",
        verdict="reduces",
        patches=[_dnsmasq_patch(snapshot, given)],
        caveats=[
            "A name that is created is not found until the denial expires: choose a short --neg-ttl inside a cluster."
        ],
        verify=VERIFY + " dnsmasq counts them: misses.bind.",
        undo=f"Give {given} again.",
        references=[DNSMASQ, RFC],
    )


def _dnsmasq_patch(snapshot: Snapshot, given: str) -> Patch:
    kind = patches.manager(snapshot)
    if kind == "kubernetes":
        space = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
        owner = patches.owner_of(snapshot)
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


def _coredns(server: ResourceView, effect: str) -> Fix | None:
    blocks = corefile.parse(server.fact("dns.corefile"))
    bare = [block for block in blocks if block.plugin("forward") and not block.plugin("cache")]
    disabled = [
        block
        for block in corefile.with_plugin(blocks, "cache")
        if any(option[:2] == ("disable", "denial") for plugin in block.plugins if plugin.name == "cache"
               for option in plugin.options)
    ]  # fmt: skip
    if bare:
        where, text = bare[0], "+cache 30"
        what = "`cache` remembers answers and denials for at most 30 s."
    elif disabled:
        where, text = disabled[0], " cache {\n-    disable denial\n+    denial 9984 30\n }"
        what = "`denial 9984 30` remembers up to 9984 denials for at most 30 s."
    else:
        return None
    return Fix(
        id="negative_cache",
        title="CoreDNS cache for denials",
        summary=f"{effect} {what}",
        verdict="reduces",
        patches=[Patch(label=f"Corefile, block {' '.join(where.keys)}", language="diff", text=text)],
        caveats=[
            "A name that is created is not found until the denial expires.",
            "A managed add-on (EKS, AKS) sets its Corefile back unless it is changed there.",
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
                "summary": "Cloud DNS answers in place of kube-dns and remembers denials.",
                "verdict": "reduces",
                "predicted_slow_ratio": None,
                "verify": VERIFY,
            }
        )
    if any(view.fact("dns.software") == "node-cache" for view in (*snapshot.dns_servers, *snapshot.neighbours)):
        return None
    return Fix(
        id="nodelocal_dnscache",
        title="NodeLocal DNSCache",
        summary="A cache on each node remembers denials (`denial 9984 5` in its default Corefile) in front of dnsmasq.",
        verdict="reduces",
        precondition="Kubernetes 1.18 or later",
        caveats=[
            "It asks dnsmasq over TCP (force_tcp), which serves 20 connections at once: see "
            "dns/dnsmasq_connection_exhaustion before switching it on."
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
        title="Stop asking for these names",
        summary=f"{listed}: a name left in a configuration, a typing error, or a step of a search list.",
        verdict="reduces",
        precondition="The program that asks is known: the DNS page lists clients by name.",
        verify="These names are gone from the table of names.",
        undo="Set the names again.",
        references=[RFC],
    )

"""Fix: CoreDNS walks the search list itself (`autopath`), so that a pod gets the answer to its first query."""

from __future__ import annotations

from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.readings.amplification import Amplification, per_lookup
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import config_map, corefile

REFERENCES = [
    "https://coredns.io/plugins/autopath/",
    "https://coredns.io/plugins/kubernetes/#autopath",
    "https://coredns.io/2018/11/15/scaling-coredns-in-kubernetes-clusters/",
]


def propose(snapshot: Snapshot, use: Amplification) -> Fix | None:
    """Only for a CoreDNS with the kubernetes plugin that the pods themselves ask; says so where a cache is between."""
    server = next(
        (view for view in snapshot.dns_servers if view.fact("dns.software") in ("coredns", "node-cache")), None
    )
    if server is None:
        return None
    if server.fact("dns.software") == "node-cache":
        return Fix(
            id="autopath",
            title="CoreDNS autopath",
            summary="Cannot help: it finds a pod's search list by the client address, and behind NodeLocal DNSCache "
            "that is the address of the node.",
            verdict="cannot_help",
            verify="-",
            undo="-",
            references=REFERENCES,
        )
    blocks = corefile.with_plugin(corefile.of(server), "kubernetes")
    if not blocks or blocks[0].plugin("autopath") is not None:
        return None
    plugin = blocks[0].plugin("kubernetes")
    assert plugin is not None
    mode = next((option[1] for option in plugin.options if option[0] == "pods" and len(option) > 1), None)
    lines = ["+autopath @kubernetes", f" {' '.join(('kubernetes', *plugin.arguments))} {{"]
    if mode != "verified":
        lines += [f"-    pods {mode}"] if mode else []
        lines += ["+    pods verified"]
    edits = config_map.options(server, "kubernetes", {"pods": "verified"})
    edits += config_map.plugin(blocks[:1], "autopath @kubernetes")
    return Fix(
        id="autopath",
        title="CoreDNS autopath",
        summary="CoreDNS follows the pod's search list itself and answers the first query with the name that exists: "
        f"1 query per type instead of {per_lookup(use.chains):.1f}. It needs `pods verified`, so it watches every pod.",
        verdict="reduces",
        precondition="Works only if CoreDNS sees the addresses of the pods (no NodeLocal DNSCache or NAT in between) "
        "and the pods are in this cluster.",
        patches=config_map.with_command(
            snapshot,
            server,
            edits,
            Patch(label=f"Corefile, block {' '.join(blocks[0].keys)}", language="diff", text="\n".join(lines)),
        ),
        caveats=[
            "Memory grows with the number of pods: about (pods + services) / 250 + 56 MB instead of / 1000 + 54 "
            "(CoreDNS's own figures).",
            "When an address passes to a pod of another namespace, that pod briefly gets the search list of the old "
            "namespace. Pods on Windows nodes are not supported.",
            "A managed add-on (EKS, AKS) resets its Corefile unless it is changed there.",
            "For names that do not exist, clients still walk the search list.",
        ],
        verify="coredns_autopath_success_total rises and the share of names that do not exist falls.",
        undo="Remove the line, restore `pods`, and let CoreDNS reload.",
        references=REFERENCES,
    )


def _walks_search_lists(before: Facts, after: Facts) -> bool:
    return bool(landing.plugins(after, "autopath")) and not landing.plugins(before, "autopath")


FIXES = (
    FixKind(
        id="autopath",
        title="Turn on CoreDNS autopath",
        precondition="CoreDNS sees the pods' addresses: no NodeLocal DNSCache and no NAT in between.",
        landing=landing.in_corefile("The Corefile gets the plugin autopath.", _walks_search_lists),
        measures=("queries_per_lookup", "nxdomain_ratio", "overdue_ratio", "mean_ms"),
    ),
)

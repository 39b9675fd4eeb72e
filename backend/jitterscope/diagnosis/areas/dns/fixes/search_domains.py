"""Fixes: names that are looked up as they are (a dot at the end), and fewer `ndots` for the pods that need it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from jitterscope.diagnosis.areas.dns import settings
from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.readings.amplification import Amplification, ClientUse, best_ndots, per_lookup
from jitterscope.diagnosis.core import owner_commands, owners
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Interval, Patch
from jitterscope.diagnosis.core.landing import FixKind, Seen, Unseen
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

RESOLV_CONF = "https://man7.org/linux/man-pages/man5/resolv.conf.5.html"
DNS_CONFIG = "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-dns-config"
MUSL = "https://wiki.musl-libc.org/functional-differences-from-glibc.html"
VERIFY = "Queries per lookup of these clients, and the share of names that do not exist, fall on the DNS page."
MOST_NAMES, MOST_OWNERS = 8, 5


def label(use: ClientUse) -> str:
    """What people call a client: its pod, the pods that it can be, else its address."""
    found = use.search.workloads
    names = sorted({name for view in found if (name := _name(view)) is not None})
    if use.search.source == "resolv_conf" and len(names) == 1:
        return names[0]
    if len(names) == 1:
        return f"{use.client} (likely {names[0]})"
    namespaces = sorted({space for view in found if (space := view.fact("workload.namespace"))})
    return f"{use.client} (namespace {namespaces[0]})" if len(namespaces) == 1 else use.client


def _name(view: ResourceView) -> str | None:
    pod, namespace = view.fact("workload.pod"), view.fact("workload.namespace")
    if pod:
        return f"{namespace}/{pod}" if namespace else pod
    return view.fact("workload.container")


def trailing_dot(use: Amplification) -> Fix:
    """Always possible, in the programs' configuration: a name that ends in a dot is asked as it is."""
    wasted: dict[tuple[str, str], int] = defaultdict(int)
    for chain in use.chains:
        wasted[(chain.name, chain.answer)] += chain.wasted + chain.failed
    ranked = sorted(wasted.items(), key=lambda item: (-item[1], item[0]))[:MOST_NAMES]
    share = sum(count for _, count in ranked) / max(1, use.wasted)
    return Fix(
        id="trailing_dot",
        title="Write full names with a dot at the end",
        summary="A name that ends in a dot is looked up as it is: 1 query per type instead of "
        f"{per_lookup(use.chains):.1f}. The wasted queries of {say.count(len(ranked), 'name')}, "
        f"{say.percent(share)} of all, go away.",
        verdict="removes",
        precondition="Works only if the program passes the name on as it is written.",
        patches=[
            Patch(
                label="Where the programs name these hosts",
                language="diff",
                text="\n".join(f"-{name}\n+{answer}." for (name, answer), _ in ranked),
            )
        ],
        caveats=[
            "Some HTTP and TLS libraries send the dot in the Host header or compare it with the certificate or a "
            "virtual host: try it with one program first."
        ],
        verify=VERIFY,
        undo="Remove the dots.",
        references=[RESOLV_CONF, "https://www.rfc-editor.org/rfc/rfc1034#section-3.1"],
    )


def ndots(snapshot: Snapshot, use: Amplification) -> Fix | None:
    """For each client the largest value that saves the queries and still finds its short names; None: no value does."""
    chosen = {one.client: best for one in use.clients if one.chains and (best := best_ndots(one)) is not None}
    users = [one for one in use.clients if one.client in chosen]
    if not users:
        return None
    lookups = sum(chain.lookups for chain in use.chains)
    after = sum(
        (chosen[one.client][1] if one.client in chosen else one.queries_per_lookup)
        * sum(chain.lookups for chain in one.chains)
        for one in use.clients
    ) / max(1, lookups)  # fmt: skip
    values = sorted({chosen[one.client][0] for one in users})
    told = ", ".join(f"{label(one)}: ndots:{chosen[one.client][0]}" for one in users[:3])
    return Fix(
        id="ndots",
        title=f"ndots:{values[0]}" if len(values) == 1 else f"ndots:{values[0]} to {values[-1]}, by pod",
        summary=f"Names with that many dots are tried as absolute names first: {after:.1f} queries per lookup instead "
        f"of {per_lookup(use.chains):.1f}. {told}.",
        verdict="removes" if after < 1.1 else "reduces",
        predicted={"queries_per_lookup": _left(use, (after - 1) / max(1e-9, per_lookup(use.chains) - 1))},
        precondition="Works only if the program reads resolv.conf (glibc, musl, Go, and most others do).",
        patches=_patches(snapshot, users, {client: value for client, (value, _) in chosen.items()}),
        caveats=[
            "Names that were not looked up in this window are affected too: musl (Alpine) never appends a search "
            "domain to a name with ndots dots or more, so with ndots:1 it no longer finds service.namespace.",
            "A short name with that many dots costs one more query, because it is tried as an absolute name first.",
        ],
        verify=VERIFY,
        undo="Remove the option; Kubernetes then sets ndots:5 again.",
        references=[RESOLV_CONF, DNS_CONFIG, MUSL],
    )


def _left(use: Amplification, share: float) -> Interval:
    """Queries per lookup when this share of what is wasted remains. Names that are not listed are taken to be like the
    others; at most they keep all of theirs."""
    wasted = use.queries_per_name - 1
    unlisted = max(0.0, 1 - use.listed / max(1, use.queries))
    kept = min(1.0, max(0.0, share))
    expected = 1 + wasted * kept
    return Interval(low=expected, expected=expected, high=1 + wasted * (kept + unlisted * (1 - kept)))


def _patches(snapshot: Snapshot, users: Sequence[ClientUse], values: dict[str, int]) -> list[Patch]:
    wanted: dict[tuple[str, str], tuple[Snapshot, int]] = {}
    for use in users:
        for view in use.search.workloads if use.search.source == "resolv_conf" else ():
            if view.fact("workload.manager") == "kubernetes" and view.fact("workload.owner"):
                inside = replace(snapshot, subject=view)
                key = (view.fact("workload.namespace") or "NAMESPACE", str(owners.of(inside)))
                # Replicas of one owner may differ in what they asked: the safest value counts for all.
                wanted[key] = (inside, max(wanted[key][1] if key in wanted else 0, values[use.client]))
    chosen = sorted(wanted.items(), key=lambda item: item[0])[:MOST_OWNERS]
    found = [
        Patch(label=f"{space}/{owner} ({owners.of(inside).effect})", language="shell", text=command)
        for (space, owner), (inside, value) in chosen
        if (command := owner_commands.template_command(inside, {"dnsConfig": _option(value)})) is not None
    ]
    value = max(values[use.client] for use in users)
    if {view.fact("workload.manager") for use in users for view in use.search.workloads} == {"docker"}:
        return [Patch(label="Compose service", language="yaml", text=f"dns_opt:\n  - ndots:{value}")]
    if _on_kubernetes(snapshot, users):
        text = f'dnsConfig:\n  options:\n  - name: ndots\n    value: "{value}"'
        changes = [
            change
            for _, (inside, value) in chosen
            for change in owners.change(inside, owners.of(inside).whole({"dnsConfig": _option(value)}))
        ]
        return [*found, Patch(label="In the pod's spec", language="yaml", text=text, changes=changes)]
    return [Patch(label="In the client's /etc/resolv.conf", language="shell", text=f"options ndots:{value}")]


def _option(value: int) -> dict[str, list[dict[str, str]]]:
    return {"options": [{"name": "ndots", "value": str(value)}]}


def _on_kubernetes(snapshot: Snapshot, users: Sequence[ClientUse]) -> bool:
    views = [snapshot.subject, *(view for use in users for view in use.search.workloads)]
    inside = any(domain.startswith("svc.") for use in users for domain in use.search.domains)
    return inside or any(view.fact("workload.manager") == "kubernetes" for view in views)


_WASTE = ("queries_per_lookup", "nxdomain_ratio", "overdue_ratio", "mean_ms")
FIXES = (
    FixKind(
        id="trailing_dot",
        title="Write full names with a dot at the end",
        precondition="The programs pass names on as they are written.",
        landing=Unseen("Names are written in the configuration of programs, which no collector reads."),
        measures=_WASTE,
        lab="search-domains --delay-ms 10 --apply trailing_dot",
    ),
    FixKind(
        id="ndots",
        title="Set a lower ndots",
        precondition="The programs read resolv.conf, as glibc, musl, and Go do.",
        landing=Seen(
            "A client's resolv.conf sets a lower ndots than any before, or the highest one is gone.",
            (settings.RESOLV_CONF,),
            landing.clients_lower("ndots"),
        ),
        measures=_WASTE,
        lab="search-domains --delay-ms 10 --apply ndots",
    ),
)

"""Am I affected by NodeLocal DNSCache exhausting kube-dns? The three questions of case 4, answered.

Pure: from a snapshot, or from any views of one node (its DNS servers, their processes, the node itself) of one window.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Part
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.programs import golang
from jitterscope.diagnosis.programs.dns_upstreams import endpoint, forwards_to, serves, upstreams

Reply = Literal["yes", "no", "cannot_tell"]
Verdict = Literal["yes", "at_risk", "no", "cannot_tell"]
# dnsmasq.h MAX_PROCS; since 2.90 only the default of --max-tcp-connections.
DEFAULT_CHILD_LIMIT = 20
# kube-dns is CoreDNS from here on: docs.cloud.google.com/kubernetes-engine/docs/concepts/kube-dns
GKE_KUBE_DNS_ON_COREDNS = (1, 36)


class Answer(Part):
    """One question. `numbers` carry units in their names; `missing` says what an answer would need."""

    id: Literal["nodelocal_with_kube_dns", "io_timeout_lines", "dnsmasq_at_limit"]
    question: str
    answer: Reply
    statement: str
    numbers: dict[str, float] = Field(default_factory=dict)
    missing: list[str] = Field(default_factory=list)


class Affected(Part):
    """`at_risk`: the combination is in use, but nothing waited in this window."""

    verdict: Verdict
    statement: str
    answers: list[Answer]


def affected(snapshot: Snapshot) -> Affected:
    """From the point of view of one subject and its neighbours."""
    views = (*snapshot.dns_servers, *snapshot.neighbours, *snapshot.processes, snapshot.node)
    return affected_of(views, snapshot.unavailable, snapshot.step_us)


def affected_of(
    views: Iterable[ResourceView], unavailable: Mapping[str, str] | None = None, step_us: int = 100_000
) -> Affected:
    """From views of one node over one window; series have one value each `step_us`."""
    known = list({view.id: view for view in views}.values())
    servers = [view for view in known if view.kind == "dns_server"]
    dnsmasqs = [view for view in servers if view.fact("dns.software") == "dnsmasq"]
    caches = [view for view in servers if _is_cache(view, dnsmasqs)]
    gone = unavailable or {}
    combination = _combination(servers, caches, dnsmasqs, [view for view in known if view.kind == "node"])
    lines = _lines(caches, gone)
    limit, waited = _limit(
        dnsmasqs, [view for view in known if view.kind == "process"], combination.answer, gone, step_us
    )
    verdict, statement = _verdict(combination.answer, lines.answer, limit.answer, waited)
    return Affected(verdict=verdict, statement=statement, answers=[combination, lines, limit])


def _is_cache(server: ResourceView, dnsmasqs: Sequence[ResourceView]) -> bool:
    """NodeLocal DNSCache, or a CoreDNS that does the same: caches on the node and forwards to a dnsmasq."""
    software = server.fact("dns.software")
    if software == "node-cache":
        return True
    where = endpoint(server)
    by_address = where is not None and where[0] == "169.254.20.10"
    return software == "coredns" and (by_address or bool(forwards_to(server, dnsmasqs)))


def _combination(
    servers: list[ResourceView], caches: list[ResourceView], dnsmasqs: list[ResourceView], nodes: list[ResourceView]
) -> Answer:
    linked = {target.id for cache in caches for target in forwards_to(cache, dnsmasqs)}
    towards = [up for cache in caches for up in upstreams(cache)]
    behind = [view for view in dnsmasqs if view.id in linked]
    forced = [up for up in towards if up.force_tcp and (not linked or any(serves(view, up) for view in behind))]
    numbers = {
        "caches": float(len(caches)),
        "dnsmasq_servers": float(len(dnsmasqs)),
        "force_tcp_upstreams": float(len(forced)),
    }
    version = next((text for node in nodes if (text := node.fact("kube.server_version"))), "")
    gke = golang.version(version) if "gke" in version else ()
    reply: Reply
    missing: list[str] = []
    if not servers:
        reply, text, missing = "cannot_tell", "No DNS server was seen on this node.", ["dns.software"]
    elif not caches:
        reply, text = "no", f"No cache in front of a dnsmasq among {say.count(len(servers), 'DNS server')} here."
    elif linked and not forced:
        reply, text = "no", "A cache on the node forwards to dnsmasq, but over UDP, which needs no child process."
    elif linked:
        reply, text = "yes", "A cache on the node forwards to dnsmasq over TCP (force_tcp)."
    elif gke >= GKE_KUBE_DNS_ON_COREDNS:
        reply, text = "no", f"NodeLocal DNSCache runs here, but kube-dns on GKE {version} is CoreDNS."
    elif gke and forced and (_kube_dns_replicas(nodes) or dnsmasqs):
        reply, text = (
            "yes",
            f"NodeLocal DNSCache forwards over TCP (force_tcp), and kube-dns on GKE {version} is dnsmasq.",
        )
    else:
        reply, text = (
            "cannot_tell",
            "NodeLocal DNSCache runs here, but the server behind its upstream address was not seen.",
        )
        missing = ["kube.server_version", "kube.cluster_size"]
    return Answer(
        id="nodelocal_with_kube_dns",
        question="Is NodeLocal DNSCache used together with kube-dns?",
        answer=reply,
        statement=text,
        numbers=numbers,
        missing=missing,
    )


def _kube_dns_replicas(nodes: list[ResourceView]) -> float:
    for node in nodes:
        try:
            size = json.loads(node.fact("kube.cluster_size") or "{}")
        except ValueError:
            continue
        if isinstance(size, dict) and isinstance(replicas := size.get("kube_dns_replicas"), int):
            return float(replicas)
    return 0.0


def _lines(caches: list[ResourceView], unavailable: Mapping[str, str]) -> Answer:
    counts: dict[str, float] = {}
    for event in (event for cache in caches for event in cache.events):
        if event.kind == "dns.error" and event.attributes.get("kind") == "io_timeout":
            towards = event.attributes.get("upstream") or "an unnamed upstream"
            counts[towards] = counts.get(towards, 0.0) + (number(event.attributes.get("count")) or 1.0)
    total = sum(counts.values())
    reply: Reply = "yes" if total else "no"
    missing: list[str] = []
    if total:
        worst = max(sorted(counts), key=counts.__getitem__)
        text = f"{say.count(total, 'line')} with i/o timeout, {counts[worst]:,.0f} of them about {worst}."
    elif "dns_errors" in unavailable:
        reply, text, missing = "cannot_tell", f"Its log is not read: {unavailable['dns_errors']}.", ["dns.error"]
    elif not caches:
        reply, text = "cannot_tell", "No NodeLocal DNSCache with a readable log."
        missing = ["dns.error"]
    else:
        text = "No line with i/o timeout in this window."
    return Answer(
        id="io_timeout_lines",
        question="Does NodeLocal DNSCache log i/o timeout?",
        answer=reply,
        statement=text,
        numbers={"lines": total, "upstreams": float(len(counts))},
        missing=missing,
    )


def _limit(
    dnsmasqs: list[ResourceView],
    processes: list[ResourceView],
    combination: Reply,
    unavailable: Mapping[str, str],
    step_us: int,
) -> tuple[Answer, bool | None]:
    """The answer, and whether connections waited at the limit; None: that was not measured."""
    question = "Does dnsmasq reach its limit of child processes?"
    children = _most(processes, "process_children")
    limits = [value for view in dnsmasqs if (value := number(view.fact("dns.child_limit")))]
    if children is None or not dnsmasqs:
        none = not dnsmasqs and combination == "no"
        text = "There is no dnsmasq behind a cache here." if none else "No child processes of a dnsmasq were counted."
        if (why := unavailable.get("process_children")) and not none:
            text = f"{text[:-1]}: {why}."
        reply: Reply = "no" if none else "cannot_tell"
        missing = [] if none else ["process_children"]
        return Answer(
            id="dnsmasq_at_limit", question=question, answer=reply, statement=text, missing=missing
        ), None  # fmt: skip
    limit = min(limits, default=float(DEFAULT_CHILD_LIMIT))
    full = children >= limit
    backlog = _most(dnsmasqs, "dns_accept_backlog")
    waiting = None if backlog is None else np.isfinite(backlog) & (backlog > 0) & _near(full)
    seconds, most = float(full.sum()) * step_us / 1e6, float(np.nanmax(children))
    numbers = {"children_max": most, "child_limit": limit, "at_limit_s": seconds}
    text = f"At most {most:,.0f} of {limit:,.0f} children."
    if full.any():
        text = f"{most:,.0f} children at a limit of {limit:,.0f}, for {seconds:.1f} s of the window"
        if waiting is None or backlog is None:
            text += "; whether connections waited was not measured."
        else:
            numbers |= {"backlog_max": float(np.nanmax(backlog)), "waiting_s": float(waiting.sum()) * step_us / 1e6}
            text += (
                f"; up to {numbers['backlog_max']:,.0f} connections in the accept queue."
                if waiting.any()
                else "; no connection waited, so this is harmless."
            )
    answer = Answer(
        id="dnsmasq_at_limit",
        question=question,
        answer="yes" if full.any() else "no",
        statement=text,
        numbers=numbers,
    )
    return answer, None if waiting is None else bool(waiting.any())


def _most(views: Iterable[ResourceView], metric: str) -> FloatArray | None:
    """The largest value of each tick; None where nothing was recorded."""
    rows = [values for view in views if (values := view.series.get(metric)) is not None and np.isfinite(values).any()]
    if not rows:
        return None
    stack = np.stack(rows)
    return np.where(np.isfinite(stack).any(axis=0), np.nanmax(np.nan_to_num(stack, nan=-1.0), axis=0), np.nan)


def _near(full: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The two counters are read one after the other: a tick to either side belongs together."""
    near = full.copy()
    near[1:] |= full[:-1]
    near[:-1] |= full[1:]
    return near


def _verdict(combination: Reply, lines: Reply, limit: Reply, waited: bool | None) -> tuple[Verdict, str]:
    if combination == "no":
        return "no", "Not affected: the two are not used together here."
    if limit == "yes" and waited is not False:
        if combination == "yes":
            return "yes", "Affected: dnsmasq has no free child for connections of NodeLocal DNSCache."
        return "at_risk", "dnsmasq reaches its limit. NodeLocal DNSCache was not seen among its clients."
    if combination == "cannot_tell":
        return "cannot_tell", "Whether the two are used together is not known here."
    if lines == "yes" and limit == "cannot_tell":
        return "yes", "Affected, judging by the timeouts. dnsmasq itself is not visible from this node."
    if limit == "yes":
        return "at_risk", "Both are in use and the limit is reached, but no connection waited in this window."
    return "at_risk", "Both are in use. The limit was not reached in this window."

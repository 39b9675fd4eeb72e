"""Facts from a metrics page of CoreDNS, node-local-dns, or kube-dns, under its old and new names.

Names: coredns.io plugins cache, forward, metrics. Connections and request times of forward moved to coredns_proxy_* in
1.11; counts lost "_count" in 1.7 (coredns_dns_request_count_total). kubedns_dnsmasq_*: kubernetes/dns sidecar.
"""

from __future__ import annotations

from jitterscope.analyses.parsers._metrics_page import Page, seconds_between
from jitterscope.analyses.report import Fact
from jitterscope.analyses.wording import duration, share

_HITS = ("coredns_proxy_conn_cache_hits_total", "coredns_forward_conn_cache_hits_total")
_MISSES = ("coredns_proxy_conn_cache_misses_total", "coredns_forward_conn_cache_misses_total")
_TIMES = ("coredns_proxy_request_duration_seconds", "coredns_forward_request_duration_seconds")
_QUERIES = ("coredns_dns_requests_total", "coredns_dns_request_count_total")
_RCODES = ("coredns_dns_responses_total", "coredns_dns_response_rcode_count_total")
_COUNTERS = (
    (
        "max_concurrent",
        "Queries refused by forward's max_concurrent",
        ("coredns_forward_max_concurrent_rejects_total",),
    ),
    ("panics", "Panics", ("coredns_panics_total", "coredns_panic_count_total")),
    (
        "healthcheck",
        "Failed health checks of upstreams",
        ("coredns_proxy_healthcheck_failures_total", "coredns_forward_healthcheck_failures_total"),
    ),
    ("broken", "Times when all upstreams counted as broken", ("coredns_forward_healthcheck_broken_total",)),
)


def dns_facts(page: Page, earlier: Page | None) -> list[Fact]:
    """Facts of DNS counters; rates if an earlier page of the process and the time between are known."""
    return [
        fact
        for fact in (
            _queries(page), _cache(page), _connections(page, earlier), _forward(page), *_counters(page), _dnsmasq(page),
            _children(page),
        )
        if fact is not None
    ]  # fmt: skip


def _queries(page: Page) -> Fact | None:
    queries = page.total(*_QUERIES)
    if queries is None:
        return None
    rcodes = page.by("rcode", *_RCODES)
    return Fact(
        id="queries",
        label="Queries since the start",
        value=f"{queries:,.0f}",
        detail=", ".join(
            f"{count:,.0f} {code}" for code, count in sorted(rcodes.items(), key=lambda item: -item[1])[:6]
        )
        or None,
        numbers={"queries": queries} | {code.lower(): count for code, count in rcodes.items() if code},
    )


def _cache(page: Page) -> Fact | None:
    hits, misses = page.total("coredns_cache_hits_total"), page.total("coredns_cache_misses_total")
    if misses is None and (requests := page.total("coredns_cache_requests_total")) is not None:
        misses = requests - (hits or 0)
    if hits is None and misses is None:
        return None
    negative = page.where("coredns_cache_hits_total", type="denial")
    return Fact(
        id="cache",
        label="Answers from the cache",
        value=share(hits or 0, (hits or 0) + (misses or 0)),
        detail=None if negative is None else f"{negative:,.0f} of them are negative answers.",
        numbers={"hits": hits or 0, "misses": misses or 0},
    )


def _connections(page: Page, earlier: Page | None) -> Fact | None:
    misses, hits = page.total(*_MISSES), page.total(*_HITS) or 0.0
    if misses is None:
        return None
    numbers = {"misses": misses, "hits": hits}
    detail = None
    if earlier is not None and (before := earlier.total(*_MISSES)) is not None:
        numbers["misses_grown"] = misses - before
        seconds = seconds_between(earlier, page)
        detail = f"{misses - before:,.0f} more between the pages"
        if seconds:
            numbers["misses_per_s"] = (misses - before) / seconds
            detail += f", {(misses - before) / seconds:.3g}/s"
        detail += "."
    return Fact(
        id="connections",
        label="Forwarded queries that opened a connection",
        value=share(misses, misses + hits),
        level="attention" if misses > hits and misses > 100 else "info",
        detail=detail,
        numbers=numbers,
    )


def _forward(page: Page) -> Fact | None:
    for name in _TIMES:
        count, sum_s = page.total(f"{name}_count"), page.total(f"{name}_sum")
        if count and sum_s is not None:
            upstreams = page.by("to", f"{name}_count")
            return Fact(
                id="forward",
                label="Forwarded queries",
                value=f"{count:,.0f}, {duration(sum_s / count * 1e6)} each on average",
                detail=", ".join(f"{address}: {number:,.0f}" for address, number in sorted(upstreams.items())[:6])
                or None,
                numbers={"requests": count, "mean_us": sum_s / count * 1e6},
            )
    return None


def _counters(page: Page) -> list[Fact]:
    facts = []
    for id, label, names in _COUNTERS:
        value = page.total(*names)
        if value is not None:
            level = "attention" if value else "info"
            facts.append(
                Fact.model_validate(
                    {"id": id, "label": label, "value": f"{value:,.0f}", "level": level, "numbers": {"count": value}}
                )
            )
    return facts


def _dnsmasq(page: Page) -> Fact | None:
    hits, misses = page.total("kubedns_dnsmasq_hits"), page.total("kubedns_dnsmasq_misses")
    if hits is None or misses is None:
        return None
    return Fact(
        id="dnsmasq_cache",
        label="Answers from dnsmasq's cache",
        value=share(hits, hits + misses),
        numbers={"hits": hits, "misses": misses},
    )


def _children(page: Page) -> Fact | None:
    """cAdvisor's container_processes of a dnsmasq container: the main process and a child for each TCP connection."""
    processes = page.by("container", "container_processes").get("dnsmasq")
    if processes is None:
        return None
    most = max(
        value
        for (name, labels), value in page.samples.items()
        if name == "container_processes" and dict(labels).get("container") == "dnsmasq"
    )
    return Fact(
        id="processes",
        label="Processes in a dnsmasq container, maximum",
        value=f"{most:,.0f}",
        level="attention" if most >= 21 else "info",
        detail="21 are the main process and 20 children: a dnsmasq takes no more, unless it has --max-tcp-connections.",
        numbers={"most": most},
    )

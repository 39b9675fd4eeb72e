"""The figures that the lab measures itself and the same ones queried from the product."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from labs.search.pods import Lookups


class SearchFigures(BaseModel):
    """Figures over one run; None: nothing was seen to compute it from.

    `queries` reached the cluster's DNS. `queries_per_name` is per name and type, as a resolver queries A and AAAA.
    `lookup_*` and `not_found_share` are of whole lookups, which only the lab sees.
    """

    model_config = ConfigDict(extra="forbid")

    queries: int | None = None
    queries_per_s: float | None = None
    queries_per_name: float | None = None
    nxdomain_share: float | None = None
    servfail_share: float | None = None
    lookups: int | None = None
    lookup_p50_ms: float | None = None
    lookup_p99_ms: float | None = None
    not_found_share: float | None = None


_TYPES = 2  # A and AAAA
_RESPONSES = re.compile(r'^coredns_dns_responses_total\{[^}]*rcode="(\w+)"[^}]*\} (\S+)$', re.MULTILINE)


def responses(page: str) -> dict[str, float]:
    """Answers by result code, from CoreDNS's own metrics page."""
    counts: dict[str, float] = {}
    for code, count in _RESPONSES.findall(page):
        counts[code] = counts.get(code, 0.0) + float(count)
    return counts


def measured(
    pods: Sequence[Lookups], before: dict[str, float], after: dict[str, float], seconds: float
) -> SearchFigures:
    """From what the pods saw, what their networks counted, and the server's own counters before and after."""
    looked = [one for pod in pods for one in pod.looked]
    took_ms = np.array([took for _, took, _ in looked]) / 1e3
    queries = sum(pod.sent for pod in pods)
    answers = {code: count - before.get(code, 0.0) for code, count in after.items()}
    total = sum(answers.values())
    return SearchFigures(
        queries=queries,
        queries_per_s=queries / seconds,
        queries_per_name=queries / (_TYPES * len(looked)) if looked else None,
        nxdomain_share=answers.get("NXDOMAIN", 0.0) / total if total else None,
        servfail_share=answers.get("SERVFAIL", 0.0) / total if total else None,
        lookups=len(looked),
        lookup_p50_ms=float(np.quantile(took_ms, 0.5)) if looked else None,
        lookup_p99_ms=float(np.quantile(took_ms, 0.99)) if looked else None,
        not_found_share=float(np.mean([not found for *_, found in looked])) if looked else None,
    )

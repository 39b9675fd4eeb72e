"""The lab's figures, computed from what the product stored; only the lab sees whole lookups."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.readings import names as dns_names
from jitterscope.diagnosis.areas.dns.readings.amplification import measure
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from jitterscope.series.types import TICK_US
from labs.search.figures import SearchFigures


def observed(recording: Recording, server_key: str) -> SearchFigures:
    """What the product saw of the DNS server `server_key` ("ADDRESS:PORT")."""
    server = next((one for one in recording.resources if one.kind == "dns_server" and one.key == server_key), None)
    if server is None or "dns_queries" not in server.series:
        return SearchFigures()
    totals = {name: float(np.nansum(values)) for name, values in server.series.items()}
    queries, answers = totals["dns_queries"], totals.get("dns_answers", 0.0)
    return SearchFigures(
        queries=int(queries),
        queries_per_s=queries / (recording.ticks * TICK_US / 1e6),
        queries_per_name=_per_name(recording),
        nxdomain_share=totals.get("dns_nxdomain", 0.0) / answers if answers else None,
        servfail_share=totals.get("dns_servfail", 0.0) / answers if answers else None,
    )


def _per_name(recording: Recording) -> float | None:
    """From the names queried, as the causes count: whatever is not a search-list step is an intended name."""
    snapshot = snapshot_of(recording)
    found = measure(dns_names.of(snapshot), snapshot.workloads)
    return found.queries_per_name if found.queries else None

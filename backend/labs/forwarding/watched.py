"""A dns-forward run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.sketch import quantile_us
from jitterscope.recordings.model import Recording
from labs import watching
from labs.console import Say
from labs.forwarding.bench import ForwardFigures, bench, run
from labs.forwarding.variants import Parameters, Variant, expected_cause
from labs.product import Product
from labs.report import Report, line_of, seconds_to_incident

LAB = "dns-forward"


def watch(
    product: Product, variant: Variant, parameters: Parameters, record_to: Path | None, say: Say
) -> Report[ForwardFigures]:
    """Run the lab under a running product and report both sets of figures. `record_to` keeps the product's data."""
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder,
        bench(parameters, Path(folder), say) as made,
    ):
        cgroup_ids = watching.find_cgroups(product, [one.cgroup.key for one in (made.server, made.upstream)])
        done = run(made, say)
        say("Waiting for the product's final verdict")
        said = watching.last_word(product, cgroup_ids, done.from_us, done.to_us)
        seen = product.recording(cgroup_ids[0], done.from_us, done.to_us)
        if record_to is not None:
            expected = expected_cause(parameters)
            labels = watching.labels(LAB, variant.value, expected, parameters, done.figures, done.from_us)
            watching.record(product, cgroup_ids[0], done.from_us, done.to_us, labels, record_to)
        return Report[ForwardFigures](
            lab=LAB,
            variant=variant.value,
            parameters=parameters.model_dump(),
            incidents=[line_of(one) for one in said.incidents],
            risks=[line_of(one) for one in said.risks],
            measured=done.figures,
            observed=observed(seen, made.server.key),
            time_to_incident_s=seconds_to_incident(said.incidents, done.from_us),
            incident_urls=said.urls(product),
        )


def observed(recording: Recording, server_key: str) -> ForwardFigures:
    """What the product saw of the DNS server `server_key` ("ADDRESS:PORT")."""
    server = next((one for one in recording.resources if one.kind == "dns_server" and one.key == server_key), None)
    if server is None or "dns_queries" not in server.series:
        return ForwardFigures()
    totals = {name: float(np.nansum(values)) for name, values in server.series.items()}
    queries = totals["dns_queries"]
    latency = server.distributions.get("dns_latency_us")
    return ForwardFigures(
        queries=int(queries),
        p50_ms=None if latency is None else quantile_us(latency.bucket, latency.count, 0.5) / 1e3,
        slow_share=totals.get("dns_slow", 0.0) / queries,
        nxdomain_share=totals.get("dns_nxdomain", 0.0) / queries,
        servfail_share=totals.get("dns_servfail", 0.0) / queries,
        lost_share=totals.get("dns_timeouts", 0.0) / queries,
    )

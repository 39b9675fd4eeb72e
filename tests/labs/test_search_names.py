"""What the search-domains lab looks up, and what a real resolver makes of it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from labs.console import progress
from labs.search.bench import bench, run
from labs.search.figures import SearchFigures, responses
from labs.search.variants import Variant, expected_cause, names_of, parameters_of, search_list


def test_names_and_search_lists() -> None:
    parameters = parameters_of(Variant.FAULT, {"names": 6, "services": 2})
    assert names_of(parameters, 1) == [
        "api0.partner1.example", "api1.partner1.example", "api2.partner1.example", "svc0",
        "api3.partner1.example", "api4.partner1.example", "api5.partner1.example", "svc1",
    ]  # fmt: skip
    assert search_list(0)[:3] == ["team-a.svc.cluster.local", "svc.cluster.local", "cluster.local"]
    assert len({search_list(pod)[0] for pod in range(32)}) == 32
    assert names_of(parameters_of(Variant.NONEXISTENT, {"names": 1}), 0) == ["api0.partner0.missing.example."]


def test_what_is_there() -> None:
    causes = {variant: expected_cause(parameters_of(variant, {})) for variant in Variant}
    assert causes.pop(Variant.FAULT) == "dns/search_domain_amplification"
    assert set(causes.values()) == {"none"}
    assert expected_cause(parameters_of(Variant.NDOTS, {"ndots": 3})) != "none", "outside names have two dots"


def test_responses_are_summed_over_zones() -> None:
    page = """# TYPE coredns_dns_responses_total counter
coredns_dns_responses_total{plugin="",rcode="NXDOMAIN",server="dns://:53",view="",zone="internal."} 7
coredns_dns_responses_total{plugin="cache",rcode="NXDOMAIN",server="dns://:53",view="",zone="."} 5
coredns_dns_responses_total{plugin="forward",rcode="NOERROR",server="dns://:53",view="",zone="."} 1e+03
"""
    assert responses(page) == {"NXDOMAIN": 12.0, "NOERROR": 1000.0}


def _links() -> str:
    return subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and networks: needs root")
@pytest.mark.parametrize("variant", list(Variant))
def test_queries_of_a_real_resolver(variant: Variant, tmp_path: Path) -> None:
    """glibc queries A and AAAA with each search domain in turn: 7 pairs for an outside name, 1 for a service."""
    given = {"qps": 40, "seconds": 5, "pods": 2, "names": 9, "services": 1}
    if variant is Variant.NONEXISTENT:
        given["services"] = 0
    parameters = parameters_of(variant, given)
    with bench(parameters, tmp_path, progress()) as made:
        figures = run(made, progress()).figures
    per_name = 0.9 * 7 + 0.1 if variant is Variant.FAULT else 1.0
    assert figures.lookups == 200
    assert figures.queries == pytest.approx(2 * 200 * per_name)
    assert figures.queries_per_name == pytest.approx(per_name)
    nxdomain = {Variant.FAULT: 0.9 * 6 / 6.4, Variant.NONEXISTENT: 1.0}.get(variant, 0.0)
    assert figures.nxdomain_share == pytest.approx(nxdomain)
    assert figures.servfail_share == 0
    assert figures.not_found_share == (1 if variant is Variant.NONEXISTENT else 0)
    assert set(figures.model_dump()) == set(SearchFigures.model_fields)
    deadline = time.monotonic() + 20  # the kernel cleans up a network namespace when it has time
    while f"jsl{os.getpid()}-" in _links():
        assert time.monotonic() < deadline, _links()
        time.sleep(0.1)

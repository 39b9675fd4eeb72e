"""Queries per lookup, from tables that a collector has room for: the resolver's figure for any number of pods."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from jitterscope.diagnosis.areas.dns.causes.search_domain_amplification import CAUSE
from jitterscope.diagnosis.areas.dns.readings.amplification import amplification, per_lookup
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.snapshot import Event, Snapshot
from jitterscope.diagnosis.programs.resolv_conf import ResolvConf, candidates
from jitterscope.diagnosis.scenarios.dns.names import as_collected, kubernetes, workload_facts
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, view

GKE = ("europe-west1-b.c.project.internal", "c.project.internal", "google.internal")
# Lookups of 60 names per second in spans that a trigger can end early; the first is half idle.
SPANS_S = ((10.0, 0.4), (10.0, 1.0), (2.0, 1.0), (6.2, 1.0), (10.0, 1.0))
TABLE_ROWS = 1024


def cluster(pods: int, known: bool = True) -> tuple[Snapshot, float]:
    """Pods that look up 12 outside names and 2 services each, for A and AAAA, and the number of queries per lookup."""
    draw = random.Random(pods)
    confs = {f"10.8.0.{pod + 2}": kubernetes(f"team-{pod}", *GKE) for pod in range(pods)}
    steps = {client: _steps(pod, conf) for pod, (client, conf) in enumerate(confs.items())}
    events, start, sent, wanted, denied = [], EPOCH_US, 0, 0, 0
    for seconds, share in SPANS_S:
        rows: dict[tuple[str, str, str], list[int]] = {}
        lookups = round(60 * seconds * share)
        for number in range(lookups):
            client = list(confs)[number % pods]
            asked = steps[client][number // pods % 14]
            for kind in ("A", "AAAA"):
                for name in asked:
                    row = rows.setdefault((client, name, kind), [0, 0, 0, 0])
                    row[0] += 1
                    row[1] += name != asked[-1]
                    row[3] += draw.randint(200, 6_000)
        queries, nxdomain = (sum(row[place] for row in rows.values()) for place in (0, 1))
        sent, wanted, denied = sent + queries, wanted + 2 * lookups, denied + nxdomain
        listed = _in_table(rows, draw)
        events.append(
            Event("dns.names", start, round(seconds * 1e6), {
                "rows": json.dumps(listed), "queries": str(queries), "nxdomain": str(nxdomain),
                "names": str(len({name for _, name, _ in rows})),
            })
        )  # fmt: skip
        start += round(seconds * 1e6)
    ticks = (start - EPOCH_US) // 100_000
    columns = {"dns_queries": np.full(ticks, sent / ticks), "dns_nxdomain": np.full(ticks, denied / ticks)}
    server = view(3, "dns_server", "10.96.0.10:53", columns, {"dns.software": "coredns"}, tuple(events))
    workloads = tuple(
        view(
            200 + pod, "cgroup", f"/pod-{pod}", {}, dict(workload_facts(conf, f"team-{pod}", f"web-{pod}-x", [client]))
        )
        for pod, (client, conf) in enumerate(confs.items())
    )
    made = Snapshot(
        EPOCH_US, ticks, view(1, "cgroup", "/coredns", {}, {}), view(0, "node", "node-1", {}, {}),
        dns_servers=(server,), workloads=workloads if known else (),
    )  # fmt: skip
    return as_collected(made), sent / wanted


def _steps(pod: int, conf: ResolvConf) -> list[list[str]]:
    """The queries of each name's lookup, the last of which gets an answer."""
    outside = [f"api{index}.partner{pod}.example" for index in range(12)]
    walks = [candidates(name, conf) for name in outside]
    return [*walks, *([f"svc{index}.team-{pod}.svc.cluster.local"] for index in range(2))]


def _in_table(rows: dict[tuple[str, str, str], list[int]], draw: random.Random) -> list[list[Any]]:
    """As the collector ranks them; if the table has fewer places, each name is sometimes counted anew."""
    crowded = len(rows) > TABLE_ROWS
    kept: list[list[Any]] = [
        [*key, 1, int(row[1] > 0), 0, row[3] // row[0]] if crowded else [*key, *row] for key, row in rows.items()
    ]
    draw.shuffle(kept)
    return sorted(kept, key=lambda row: (-row[3], -row[6]))


@pytest.mark.parametrize("known", [True, False], ids=["resolv.conf known", "resolv.conf unknown"])
@pytest.mark.parametrize("pods", [1, 3, 6, 20])
def test_the_figure_is_the_resolvers_for_any_number_of_pods(pods: int, known: bool) -> None:
    given, truth = cluster(pods, known)
    found = amplification(given)
    assert found.queries_per_name == pytest.approx(truth, rel=0.05)
    # Seven is the most that this resolver can make of a lookup.
    assert 1.0 <= per_lookup(found.chains) <= 7.05
    if known:
        assert per_lookup(found.chains) == pytest.approx(7.0, rel=0.02)


@pytest.mark.parametrize("pods", [1, 3, 6, 20])
def test_the_title_says_it(pods: int) -> None:
    given, truth = cluster(pods)
    found = CAUSE.detect(given)
    assert isinstance(found, Found)
    figure = float(found.title.split(" into ")[1].split(" ")[0])
    wasted = float(found.title.rsplit("; ", 1)[1].split(" ")[0]) / 100
    assert figure == pytest.approx(truth, rel=0.05)
    assert wasted == pytest.approx(1 - 1 / figure, abs=0.01)
    assert len(found.title) < 110

"""What the nodelocal-dnsmasq lab reads in /proc is really there: real sockets, real children; and its parameters."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from jitterscope.analyses.load_file import LoadResult
from jitterscope.diagnosis.core.query_results import SERVFAIL, TIMEOUT
from labs.errors import LabError
from labs.nodelocal import truth
from labs.nodelocal.figures import first_servfail_us, measured, slow_share
from labs.nodelocal.variants import Parameters, Variant, expected_cause, parameters_of

EXHAUSTION = "dns/dnsmasq_connection_exhaustion"


def test_backlog_is_what_waits_for_accept() -> None:
    with ExitStack() as stack:
        # More listening sockets than the kernel returns at once, so that the reader must continue.
        for _ in range(60):
            other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener = stack.enter_context(socket.create_server(("127.0.0.3", 0), backlog=16))
        row = truth.listening_row("127.0.0.3", listener.getsockname()[1])
        file = os.open("/proc/net/tcp", os.O_RDONLY)
        stack.callback(os.close, file)
        for waiting in range(4):
            table = truth._listen_rows(file)
            assert truth.backlogs(table, {row}) == {row: waiting}
            stack.enter_context(socket.create_connection(listener.getsockname()))
        stack.enter_context(listener.accept()[0])
        assert truth.backlogs(truth._listen_rows(file), {row}) == {row: 3}
        assert truth.backlogs("", {row}) == {}
        assert other.getsockname()[1]


def test_overflows_are_counted() -> None:
    def overflows() -> int:
        return truth.listen_overflows(Path("/proc/net/netstat").read_text())

    before = overflows()
    with socket.create_server(("127.0.0.3", 0), backlog=0) as listener, ExitStack() as stack:
        for _ in range(6):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        assert overflows() > before


def test_children_are_counted() -> None:
    with subprocess.Popen(
        ["sh", "-c", "for n in 1 2 3; do sleep 60 & done; echo on; wait"], stdout=subprocess.PIPE
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"on\n"
        path = Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
        try:
            assert truth.count_children(path) == 3
        finally:
            for child in path.read_text().split():
                os.kill(int(child), 9)
    assert truth.count_children(path) == 0


def test_figures() -> None:
    """Ten queries, one per tick, the last two SERVFAIL after 5 s and lost; children 3, then 20 and a backlog."""
    sent = np.arange(1_000_000, 2_000_000, 100_000)
    latency = np.array([50_000] * 7 + [200_000, 5_500_000, 12_000_000], np.int32)
    result = np.array([0] * 8 + [SERVFAIL, TIMEOUT], np.uint8)
    load = LoadResult(sent, latency, result, np.zeros((0, 6), np.int64))
    at = np.arange(0, 2_500_000, 10_000)
    busy = at >= 1_500_000
    readings = truth.Readings(at, np.where(busy, 20, 3), np.where(busy, 7, 0), np.where(busy, 105, 100))
    figures = measured(load, readings, 20, 150.0, 1_000_000, 2_000_000)
    assert figures.model_dump() == pytest.approx(
        {
            "p50_ms": 50.0, "p99_ms": 50.0, "slow_share": 0.3, "servfail_share": 0.1, "timeout_share": 0.2,
            "failed_share": 0.2,
            "children_peak": 20, "backlog_peak": 7, "backlog_share": 0.5, "listen_overflows": 5,
            "limit_reached_s": 0.5, "first_slow_s": 0.85, "first_servfail_s": 6.3,
        }
    )  # fmt: skip
    assert first_servfail_us(load, 1_000_000) == 7_300_000
    assert first_servfail_us(load, 1_900_000) is None
    assert slow_share(load, 150.0, 1_000_000, 1_800_000) == 1 / 8
    assert slow_share(load, 150.0, 2_000_000, 3_000_000) is None


CASES = [
    (Variant.FAULT, {}, EXHAUSTION),
    (Variant.FAULT, {"qps": 300}, EXHAUSTION),
    (Variant.FAULT, {"delay_ms": 200}, EXHAUSTION),
    (Variant.FAULT, {"children_limit": 50}, EXHAUSTION),
    (Variant.FAULT, {"qps": 300, "delay_ms": 50}, "none"),
    (Variant.FAULT, {"delay_ms": 1_500}, "dns/slow_upstream"),
    (Variant.MAX_TCP_CONNECTIONS, {}, "none"),
    (Variant.MAX_TCP_CONNECTIONS, {"qps": 2_000, "delay_ms": 100}, "none"),
    (Variant.PREFER_UDP, {"qps": 1_500}, "none"),
    (Variant.MORE_REPLICAS, {"qps": 1_500, "delay_ms": 40}, "none"),
    (Variant.SLOW_UPSTREAM, {"qps": 20}, "dns/slow_upstream"),
    (Variant.EDGE, {"delay_ms": 120}, "none"),
    (Variant.HEALTHY, {"qps": 100}, "none"),
]


@pytest.mark.parametrize(("variant", "given", "cause"), CASES)
def test_a_variant_keeps_its_meaning(variant: Variant, given: dict[str, float], cause: str) -> None:
    parameters = parameters_of(variant, given)
    assert expected_cause(parameters) == cause
    assert {name: getattr(parameters, name) for name in given} == given
    assert parameters.calm_qps <= parameters.qps
    busy = parameters.demand / parameters.limit
    if variant in (Variant.MAX_TCP_CONNECTIONS, Variant.MORE_REPLICAS):
        assert parameters.qps * parameters.delay_ms / 1e3 > 20, "one replica with its own limit would not do"
        assert busy <= 0.7
    if variant is Variant.EDGE:
        assert parameters.idle
        assert busy < 1


def test_defaults_are_those_of_the_case() -> None:
    assert parameters_of(Variant.FAULT, {}) == Parameters(qps=800, delay_ms=50, calm_qps=100)
    assert parameters_of(Variant.HEALTHY, {}).qps == 120
    assert parameters_of(Variant.MAX_TCP_CONNECTIONS, {}).children_limit == 200
    assert parameters_of(Variant.MORE_REPLICAS, {}).replicas >= 3


@pytest.mark.parametrize(
    ("variant", "given", "why"),
    [
        (Variant.SLOW_UPSTREAM, {"delay_ms": 50}, "1000 ms or more"),
        (Variant.FAULT, {"qps": 100, "calm_qps": 200}, "the calm comes first"),
    ],
)
def test_contradictions_are_refused(variant: Variant, given: dict[str, float], why: str) -> None:
    with pytest.raises(LabError, match=why):
        parameters_of(variant, given)

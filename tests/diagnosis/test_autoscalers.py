"""How the settings of autoscalers are shown."""

from __future__ import annotations

import json

import pytest

from jitterscope.diagnosis.core.autoscalers import horizontal, vertical

MIB = 1 << 20


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({}, "none"),
        ({"name": "web", "min": 1, "max": 4}, "1 to 4 replicas"),
        (
            {"name": "web", "min": 2, "max": 6, "targets": {"queue": "30", "cpu": "80%"}},
            "2 to 6 replicas at cpu 80%, queue 30",
        ),
    ],
)
def test_horizontal(told: object, shown: str) -> None:
    assert horizontal(json.dumps(told)) == shown


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({}, "none"),
        ({"name": "web", "mode": "Off", "recommended": {"cpus": 0.5}}, "Off"),
        ({"mode": "Auto", "allowed": {"min_cpus": 0.1, "max_cpus": 2, "max_bytes": 512 * MIB}},
         "Auto: CPU 0.1 to 2, memory at most 512 MiB"),
        ({"mode": "Initial", "allowed": {"min_bytes": 64 * MIB, "max_cpus": "2"}}, "Initial: memory at least 64 MiB"),
    ],
)  # fmt: skip
def test_vertical(told: object, shown: str) -> None:
    assert vertical(json.dumps(told)) == shown


@pytest.mark.parametrize("value", [None, "", "3", "{"])
def test_what_is_not_known(value: str | None) -> None:
    assert horizontal(value) is None
    assert vertical(value) is None

"""The command that changes a Corefile in its ConfigMap, run with a `kubectl` that has one object."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map
from jitterscope.diagnosis.scenarios.dns import corefiles

# Gives the name of the ConfigMap, the ConfigMap, and keeps what it is told to replace; a restart is noted.
_KUBECTL = """#!/bin/sh
case "$*" in
  "-n kube-system get deployment/coredns "*) printf coredns ;;
  "-n kube-system get configmap coredns -o json") cat "$0.json" ;;
  "replace -f -") cat > "$0.new" ;;
  "-n kube-system rollout restart deployment/coredns") echo restarted ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""
WITH_BLOCK = (
    ".:53 {\n    errors\n    forward . 10.113.0.53 /etc/resolv.conf {\n        max_fails 0\n    }\n    reload\n}\n"
)
WITHOUT = ".:53 {\n    errors\n    forward  . 10.113.0.53\n    cache 30\n}\n"
LIMITED = (
    ".:53 {\n    forward . 10.113.0.53 {\n        max_concurrent 1000\n        max_fails 0\n    }\n    reload\n}\n"
)


def _case(text: str, **facts: str) -> tuple[Snapshot, ResourceView]:
    named = {"manager": "kubernetes", "namespace": "kube-system", "owner": "Deployment/coredns", **facts}
    told = tuple(FactValue(f"workload.{name}", value, 0) for name, value in named.items())
    own = ResourceView(id=1, kind="cgroup", key="/kubepods/a", name="coredns", facts=told)
    read = tuple(FactValue(name, value, 0) for name, value in corefiles.corefile_facts(text).items())
    server = ResourceView(id=2, kind="dns_server", key="10.112.0.2:53", name="10.112.0.2:53", facts=read)
    node = ResourceView(id=3, kind="node", key="n", name="n")
    return Snapshot(start_us=0, ticks=10, subject=own, node=node, dns_servers=(server,)), server


@pytest.mark.parametrize(
    ("text", "wanted", "restarts"),
    [
        (WITH_BLOCK, WITH_BLOCK.replace("resolv.conf {\n", "resolv.conf {\n        max_concurrent 700\n"), False),
        (WITHOUT, WITHOUT.replace("0.53\n", "0.53 {\n        max_concurrent 700\n    }\n"), True),
        (LIMITED, LIMITED.replace("1000", "700"), False),
    ],
    ids=["a block", "no block", "another value"],
)
def test_the_corefile_is_what_changes(tmp_path: Path, text: str, wanted: str, restarts: bool) -> None:
    patch = config_map.forward_option(*_case(text), "max_concurrent", 700)
    assert patch is not None
    applied = json.dumps({"data": {"Corefile": text}})
    stored: dict[str, Any] = {
        "kind": "ConfigMap",
        "data": {"Corefile": text, "other": "forward . 10.113.0.53 {\n"},
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}},
    }
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    (tmp_path / "kubectl.json").write_text(json.dumps(stored, indent=4))
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-euc", patch.text], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    changed = json.loads((tmp_path / "kubectl.new").read_text())
    assert changed["data"]["Corefile"] == wanted
    assert changed == {**stored, "data": {**stored["data"], "Corefile": wanted}}
    assert ("restarted" in done.stdout) is restarts


def test_only_kubernetes_has_config_maps() -> None:
    assert config_map.forward_option(*_case(LIMITED, manager="docker"), "max_concurrent", 700) is None
    assert config_map.forward_option(*_case(".:53 {\n    errors\n}\n"), "max_concurrent", 700) is None

"""The command that changes a Corefile in its ConfigMap, run with a `kubectl` that has one object."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jitterscope.diagnosis.core.finding import CorefileChange, Patch, WorkloadChange
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot, of_workload
from jitterscope.diagnosis.programs import config_map, corefile
from jitterscope.diagnosis.scenarios.dns import corefiles
from jitterscope.pulls.files import corefile_text

# Returns the ConfigMap's name, the ConfigMap, and stores what it is told to replace; records a restart.
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


def run(tmp_path: Path, text: str, patch: Patch | None) -> tuple[str, str]:
    """(the Corefile that the command leaves, what it prints) for a ConfigMap with `text`; nothing else changes."""
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
    corefile_now = str(changed["data"]["Corefile"])
    assert changed == {**stored, "data": {**stored["data"], "Corefile": corefile_now}}
    return corefile_now, done.stdout


@pytest.mark.parametrize(
    ("text", "wanted", "restarts"),
    [
        (WITH_BLOCK, WITH_BLOCK.replace("resolv.conf {\n", "resolv.conf {\n        max_concurrent 700\n"), False),
        (WITHOUT, WITHOUT.replace("0.53\n", "0.53 {\n        max_concurrent 700\n    }\n"), True),
        (LIMITED, LIMITED.replace("1000", "700"), False),
    ],
    ids=["a block", "no block", "another value"],
)
def test_an_option_of_forward_is_set(tmp_path: Path, text: str, wanted: str, restarts: bool) -> None:
    snapshot, server = _case(text)
    edits = config_map.options(server, "forward", {"max_concurrent": 700})
    now, printed = run(tmp_path, text, config_map.command(snapshot, server, edits))
    assert now == wanted
    assert ("restarted" in printed) is restarts


# The first server block is not the one that forwards, and has its own cache.
TWO = """cluster.local:53, in-addr.arpa:53 {
    cache 5
    kubernetes cluster.local {
        pods insecure
    }
}
.:53 {
    cache 30 {
        success 9984
    }
    forward . 10.113.0.53 {
        force_tcp
    }
    reload
}
"""


def test_a_plugin_is_put_into_its_server_block_alone(tmp_path: Path) -> None:
    snapshot, server = _case(TWO)
    wanted = corefile.with_plugin(corefile.of(server), "forward")
    edits = config_map.plugin(wanted, "cache 300 {\n    prefetch 10 1m 10%\n}")
    now, _ = run(tmp_path, TWO, config_map.command(snapshot, server, edits))
    assert now == TWO.replace("    cache 30 {\n        success 9984\n    }\n", "").replace(
        ".:53 {\n", ".:53 {\n    cache 300 {\n        prefetch 10 1m 10%\n    }\n"
    )


def test_a_flag_replaces_another_one(tmp_path: Path) -> None:
    snapshot, server = _case(TWO)
    edits = config_map.options(server, "forward", {"prefer_udp": None}, without=("force_tcp",))
    now, _ = run(tmp_path, TWO, config_map.command(snapshot, server, edits))
    assert now == TWO.replace("force_tcp", "prefer_udp")


def test_a_flag_is_replaced_only_where_it_is(tmp_path: Path) -> None:
    text = TWO.replace("    kubernetes", "    forward corp 10.1.1.1 {\n        max_fails 0\n    }\n    kubernetes")
    snapshot, server = _case(text)
    edits = config_map.options(server, "forward", {"prefer_udp": None}, without=("force_tcp",), only_with="force_tcp")
    now, _ = run(tmp_path, text, config_map.command(snapshot, server, edits))
    assert now == text.replace("force_tcp", "prefer_udp")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        (
            "options",
            lambda server: config_map.options(
                server, "forward", {"prefer_udp": None, "expire": "1s"}, without=("force_tcp",), only_with="force_tcp"
            ),
        ),
        ("a plugin", lambda server: config_map.plugin(corefile.of(server)[:1], "multisocket 4")),
        ("instead of one", lambda server: config_map.plugin(corefile.of(server), "cache 60 {\n    prefetch 10\n}")),
    ],
)  # fmt: skip
def test_a_repository_s_file_gets_what_the_command_writes(
    tmp_path: Path, name: str, make: Callable[[ResourceView], list[config_map.Edit]]
) -> None:
    """The same meaning, by CoreDNS's grammar; the order of plugins in a block does not matter."""
    snapshot, server = _case(TWO)
    patches_ = config_map.with_command(
        snapshot, server, make(server), Patch(label="Corefile", language="corefile", text="x")
    )
    now, _ = run(tmp_path, TWO, patches_[0])
    (change,) = patches_[1].changes
    assert not isinstance(change, WorkloadChange)
    filed = corefile_text.change_corefile(TWO, change)
    assert filed != TWO, name
    meant = [
        [(one.keys, sorted(one.plugins, key=lambda plugin: plugin.name)) for one in corefile.of(_case(text)[1])]
        for text in (now, filed)
    ]
    assert meant[0] == meant[1]


def test_two_plugins_in_the_first_block(tmp_path: Path) -> None:
    """As `autopath` requires."""
    snapshot, server = _case(TWO)
    edits = config_map.options(server, "kubernetes", {"pods": "verified"})
    edits += config_map.plugin(corefile.of(server)[:1], "autopath @kubernetes")
    now, printed = run(tmp_path, TWO, config_map.command(snapshot, server, edits, restart=True))
    assert now == TWO.replace("insecure", "verified").replace("arpa:53 {\n", "arpa:53 {\n    autopath @kubernetes\n")
    assert "restarted" in printed


def test_a_server_in_front_has_the_config_map_of_its_own_workload() -> None:
    """The subject is the server behind."""
    snapshot, server = _case(TWO, namespace="dns", owner="DaemonSet/node-local-dns")
    edits = config_map.options(server, "forward", {"prefer_udp": None}, without=("force_tcp",))
    behind = _case(TWO)[0]
    front = of_workload(replace(server, id=9), snapshot.subject.facts)
    patch = config_map.command(replace(behind, neighbours=(front,)), front, edits)
    assert patch is not None
    assert "kubectl -n dns get daemonset/node-local-dns " in patch.text
    [change, *_] = config_map.with_command(behind, front, edits, patch)[1].changes
    assert isinstance(change, CorefileChange)
    assert (change.namespace, change.owner) == ("dns", "daemonset/node-local-dns")


def test_only_a_corefile_of_a_known_workload_in_kubernetes_is_changed() -> None:
    snapshot, server = _case(LIMITED)
    edits = config_map.options(server, "forward", {"max_concurrent": 700})
    assert config_map.command(snapshot, server, edits) is not None
    # Another server of the node, of which nothing is known.
    assert config_map.command(replace(snapshot, dns_servers=()), server, edits) is None
    docker, server = _case(LIMITED, manager="docker")
    assert config_map.command(docker, server, edits) is None
    assert config_map.options(_case(".:53 {\n    errors\n}\n")[1], "forward", {"max_concurrent": 700}) == []
    assert config_map.command(snapshot, server, []) is None

"""Values of charts, Corefiles, and kustomizations: only what is named changes, and no key is guessed."""

from __future__ import annotations

import pytest
import yaml

from jitterscope.diagnosis.core.finding import CorefileChange, PluginChange, WorkloadChange
from jitterscope.pulls.files import corefile_text, helm, kustomization
from jitterscope.pulls.files.errors import CannotChange
from tests.backend.pulls.test_manifests import LIMIT, container, lines, workload

VALUES = """\
# chart
coredns:
  replicaCount: 2
  resources:
    limits: {cpu: 100m} # low
  env:
  - name: A
    value: a
plain:
  env: {A: a}
"""


@pytest.mark.parametrize(
    ("below", "change", "expected"),
    [
        (
            "coredns",
            LIMIT,
            ["-    limits: {cpu: 100m} # low", "+    limits: {cpu: 2000m} # low"],
        ),
        (
            "coredns",
            workload({"spec": {"replicas": 4}}),
            ["-  replicaCount: 2", "+  replicaCount: 4"],
        ),
        (
            "coredns",
            container(env=[{"name": "B", "value": "b"}]),
            ["+  - name: B", "+    value: b"],
        ),
        (
            "plain",
            container(env=[{"name": "B", "value": "b"}]),
            ["-  env: {A: a}", "+  env: {A: a, B: b}"],
        ),
    ],
)
def test_values_of_a_chart(below: str, change: WorkloadChange, expected: list[str]) -> None:
    assert lines(VALUES, helm.change_values(VALUES, change, below)) == expected


def test_values_of_a_cron_job() -> None:
    """Its template is deeper, and charts call the same things the same."""
    usual = LIMIT.model_copy(update={"now": LIMIT.patch})
    deeper = {name: {"spec": {"jobTemplate": LIMIT.patch}} for name in ("patch", "now")}
    change = LIMIT.model_copy(update={"owner": "cronjob/coredns", **deeper})
    assert helm.change_values(VALUES, change, "coredns") == helm.change_values(VALUES, usual, "coredns")
    [note] = helm.notes_on(VALUES, change, "coredns")
    assert "The file sets coredns.resources.limits.cpu to 100m, but 2000m is in effect" in note


@pytest.mark.parametrize(
    ("below", "change", "says"),
    [
        ("", LIMIT, "does not set resources"),
        ("plain", LIMIT, "does not set plain.resources"),
        (
            "coredns",
            container(resources={"limits": {"memory": "1Mi"}}),
            "the chart's own values",
        ),
        (
            "plain",
            workload({"spec": {"replicas": 4}}),
            "plain.replicaCount or plain.replicas",
        ),
    ],
)
def test_what_a_chart_calls_it_is_not_guessed(below: str, change: WorkloadChange, says: str) -> None:
    with pytest.raises(CannotChange) as refused:
        helm.change_values(VALUES, change, below)
    assert says in refused.value.text


COREFILE = """\
.:53 {
    errors # all
    forward . /etc/resolv.conf # up
    cache 30 {
        success 1
    }
}
corp:53 {
\tforward . 10.0.0.1 {
\t\t# keep
\t\tforce_tcp
\t\tmax_concurrent 1000 # many
\t}
}
"""


def corefile(plugin: str = "forward", **options: str | None) -> CorefileChange:
    return CorefileChange(
        namespace="kube-system",
        owner="deployment/coredns",
        plugin=plugin,
        options=options,
    )


def test_options_of_a_corefile_alone_and_in_a_config_map() -> None:
    change = corefile(max_concurrent="500", force_tcp=None)
    expected = [
        "-    forward . /etc/resolv.conf # up", "+    forward . /etc/resolv.conf { # up", "+        max_concurrent 500",
        "+    }", "-\t\tforce_tcp", "-\t\tmax_concurrent 1000 # many", "+\t\tmax_concurrent 500 # many",
    ]  # fmt: skip
    assert lines(COREFILE, corefile_text.change_corefile(COREFILE, change)) == expected
    spaced = COREFILE.replace("\t", "    ")
    body = "".join(f"    {line}\n" for line in spaced.splitlines())
    config_map = f"# DNS\nkind: ConfigMap\nmetadata: {{name: coredns}}\ndata:\n  Corefile: |\n{body}  other: x # y\n"
    new = corefile_text.change_corefile(config_map, change)
    assert yaml.safe_load(new)["data"] == {
        "Corefile": corefile_text.change_corefile(spaced, change),
        "other": "x",
    }
    assert new.startswith("# DNS\n")
    assert new.endswith("  other: x # y\n")
    in_block = corefile_text.change_corefile(COREFILE, corefile("cache", serve_stale="1h immediate"))
    assert lines(COREFILE, in_block) == ["+        serve_stale 1h immediate"]


def test_an_option_without_a_value_and_only_where_another_one_is() -> None:
    """prefer_udp instead of force_tcp: a forward that does not force TCP stays unchanged."""
    flag = corefile(prefer_udp="", force_tcp=None)
    only = flag.model_copy(update={"only_with": "force_tcp"})
    swapped = ["-\t\tforce_tcp", "+\t\tprefer_udp"]
    assert sorted(lines(COREFILE, corefile_text.change_corefile(COREFILE, only))) == sorted(swapped)
    everywhere = lines(COREFILE, corefile_text.change_corefile(COREFILE, flag))
    assert "+        prefer_udp" in everywhere, "no blank where a value would be"
    assert corefile_text.change_corefile(only_udp := COREFILE.replace("force_tcp", "policy random"), only) == only_udp


def block(text: str, *blocks: list[str]) -> PluginChange:
    return PluginChange(namespace="kube-system", owner="deployment/coredns", blocks=list(blocks), text=text)


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        (COREFILE, block("multisocket 4", [".:53"]), ["+    multisocket 4"]),
        (
            COREFILE.replace("errors # all", "multisocket 2"),
            block("multisocket 4", [".:53"]),
            ["-    multisocket 2", "+    multisocket 4"],
        ),
        (
            COREFILE,
            block("cache 300 {\n    prefetch 10\n}", [".:53"], ["corp:53"]),
            [
                "-    cache 30 {", "-        success 1", "+    cache 300 {", "+        prefetch 10",
                "+\tcache 300 {", "+\t\tprefetch 10", "+\t}",
            ],
        ),
        ("a:53, b {\n}\n", block("cache 30", ["a:53", "b"]), ["+    cache 30"]),
    ],
    ids=["first in its block", "another number", "with a block of its own, in two", "two keys, empty"],
)  # fmt: skip
def test_a_plugin_in_server_blocks(text: str, change: PluginChange, expected: list[str]) -> None:
    new = corefile_text.change_corefile(text, change)
    assert lines(text, new) == expected
    assert corefile_text.change_corefile(new, change) == new, "the same again changes nothing"


def test_a_server_block_that_is_not_there_is_not_made() -> None:
    with pytest.raises(CannotChange) as refused:
        corefile_text.change_corefile(COREFILE, block("multisocket 4", [".:53"], ["corp"]))
    assert refused.value.text == "The Corefile has no server block corp."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: Service\nmetadata: {name: x}\n", "no ConfigMap with a Corefile"),
        (". {\n  errors\n}\n", "does not use the plugin forward"),
        (". {\n  forward . 1.1.1.1\n", "not closed"),
        (
            'kind: ConfigMap\ndata:\n  Corefile: ". {\\n forward . 1.1.1.1\\n}"\n',
            "not a text block",
        ),
    ],
)
def test_a_corefile_that_cannot_be_changed_says_why(text: str, says: str) -> None:
    with pytest.raises(CannotChange) as refused:
        corefile_text.change_corefile(text, corefile(max_concurrent="1"))
    assert says in refused.value.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resources:\n- a.yaml", "resources:\n- a.yaml\npatches:\n- path: p.yaml\n"),
        (
            "patches:\n  - path: b.yaml # x\n# end\n",
            "patches:\n  - path: b.yaml # x\n  - path: p.yaml\n# end\n",
        ),
    ],
)
def test_a_kustomization_lists_the_patch(text: str, expected: str) -> None:
    assert not kustomization.lists(text, "p.yaml")
    assert kustomization.with_patch(text, "p.yaml") == expected
    assert kustomization.lists("patchesStrategicMerge: [./p.yaml]", "p.yaml")

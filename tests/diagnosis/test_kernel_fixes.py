"""Facts gate fixes of the kernel causes: NSS's version and variable, the kernel's limits, and who pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.kernel.readings import nss
from jitterscope.diagnosis.areas.kernel.readings.lookups import lookups
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.snapshot import Event, FactValue, Snapshot
from jitterscope.diagnosis.programs import dentry_limits
from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.telemetry import view

PROBE = (("curl", 4242, "/etc/pki/nssdb/.#_dOeSnotExist_.db", 1.0),)


def fixes(snapshot: Snapshot) -> dict[str, Fix]:
    return {fix.id: fix for fix in diagnose(snapshot).findings[0].fixes}


def nss_fixes(told: dict[str, str] | None, **more: object) -> dict[str, Fix]:
    return fixes(simulate(replace(Node(storms=(Storm(20, 60, 30_000, PROBE),), seconds=60.0, nss=told), **more)))  # type: ignore[arg-type]


def text(fix: Fix) -> str:
    return "\n".join(patch.text for patch in fix.patches)


@pytest.mark.parametrize(
    ("told", "variable", "update", "unset"),
    [
        (None, True, "unknown", False),
        ({"version": "3.36", "file_system": "overlay"}, True, "removes", False),
        ({"version": "3.36", "file_system": "nfs4"}, True, "reduces", False),
        ({"version": "3.44", "file_system": "nfs"}, True, "reduces", False),
        ({"version": "3.44", "env": "auto", "file_system": "ext4"}, True, "reduces", True),
        ({"version": "3.87.1", "env": "auto", "file_system": "ext4"}, True, "cannot_help", True),
        ({"version": "3.87.1", "env": "auto", "file_system": "fuse.sshfs"}, True, "cannot_help", False),
        ({"version": "3.87.1", "file_system": "fuse"}, True, "cannot_help", False),
    ],
)
def test_nss_fixes_go_by_version_variable_and_file_system(
    told: dict[str, str] | None, variable: bool, update: str, unset: bool
) -> None:
    proposed = nss_fixes(told)
    assert ("nss_variable" in proposed) == variable
    assert proposed["nss_update"].verdict == update
    assert ("nss_unset" in proposed) == unset
    assert "kubectl -n shop set env deployment/app -c app NSS_SDB_USE_CACHE=no" in text(proposed["nss_variable"])
    now = (told or {}).get("env")
    undo = proposed["nss_variable"].undo
    assert (f"NSS_SDB_USE_CACHE={now}" in undo) if now else undo.endswith("NSS_SDB_USE_CACHE-")
    if unset:
        assert "NSS_SDB_USE_CACHE-" in text(proposed["nss_unset"])


def test_a_variable_that_is_set_is_not_proposed() -> None:
    # In that case, another process with the same NSS made the names.
    proposed = nss_fixes({"version": "3.36", "env": "yes", "file_system": "ext4"})
    assert not {"nss_variable", "nss_update", "nss_unset"} & set(proposed)


def test_rhel_7_has_an_erratum() -> None:
    proposed = nss_fixes({"version": "3.36", "file_system": "xfs"}, kernel="3.10.0-1062.el7.x86_64")
    assert any("RHSA-2020:4076" in caveat for caveat in proposed["nss_update"].caveats)
    assert nss.RHEL_7 in proposed["nss_update"].references


@pytest.mark.parametrize(
    ("kernel", "limit", "verdict", "said"),
    [
        ("6.12.9", "{}", "cannot_help", ""),
        ("6.12.9", None, "cannot_help", ""),
        ("3.10.0-1160.el7.x86_64", '{"fs.negative-dentry-limit": 0}', "reduces", "negative-dentry-limit=15"),
        ("3.10.0-1062.el7.x86_64", "{}", "reduces", ""),
        ("3.10.0-1062.21.1.el7.x86_64", '{"negative-dentry-limit": "0"}', "reduces", "negative-dentry-limit=15"),
        ("4.18.0-477.10.1.el8_8.x86_64", "{}", "reduces", ""),
        ("4.18.0-553.62.1.el8_10.x86_64", '{"fs.dentry-fs-klimit": "0"}', "reduces", "dentry-fs-klimit=VALUE"),
        ("5.14.0-503.el9.x86_64", '{"fs.dentry-negative": "0"}', "cannot_help", ""),
    ],
)
def test_the_limit_is_what_the_kernel_has(kernel: str, limit: str | None, verdict: str, said: str) -> None:
    snapshot = simulate(Node(storms=(Storm(20, 60, 30_000),), seconds=60.0, kernel=kernel, limit=limit))
    fix = fixes(snapshot)["dentry_limit"]
    assert fix.verdict == verdict
    assert said in text(fix)
    if verdict == "reduces" and not said:
        assert "Update the kernel" in fix.title
        assert fix.precondition
    # What only affects removed files does not fix names that never were files.
    negative = fixes(snapshot).get("dentry_negative")
    assert (negative is not None) == (limit is not None and "dentry-negative" in limit)
    assert negative is None or negative.verdict == "cannot_help"


@pytest.mark.parametrize(
    ("kernel", "has"),
    [("3.10.107", True), ("3.11.10-generic", True), ("3.12.0", False), ("3.10.0-1160.el7", None), ("", None)],
)
def test_one_lock_for_all_lists(kernel: str, has: bool | None) -> None:
    snapshot = simulate(Node(seconds=10.0, kernel=kernel))
    assert dentry_limits.global_lru_lock(snapshot) is has


def test_a_drop_by_hand_tells_its_pause() -> None:
    fix = fixes(simulate(Node(storms=(Storm(20, 120, 40_000),))))["drop_caches"]
    assert "echo 2 > /proc/sys/vm/drop_caches" in text(fix)
    assert "Predicted pause: 2." in fix.summary
    assert "4,02" in fix.summary


def test_whoever_has_a_memory_limit_gets_none() -> None:
    snapshot = simulate(Node(storms=(Storm(20, 60, 30_000),), seconds=60.0))
    assert "--limits=memory=MEMORY" in text(fixes(snapshot)["memory_limit"])
    limited = tuple(
        replace(one, facts=(*one.facts, FactValue("memory.limit_bytes", "268435456", one.facts[0].since_us + 1)))
        for one in snapshot.cgroups
    )
    assert "memory_limit" not in fixes(replace(snapshot, cgroups=limited))


def test_stalls_get_the_fix_of_their_trigger() -> None:
    unmount = fixes(simulate(Node(negative=4e6, losses=(Loss(60, "unmount"),))))
    assert {"drop_before_unmount", "find_maker"} <= set(unmount)
    assert "watermark_scale_factor" not in unmount
    reclaim = fixes(simulate(Node(negative=20e6, losses=(Loss(60, "direct", 0.2),))))
    assert "sysctl -w vm.watermark_scale_factor=100" in text(reclaim["watermark_scale_factor"])
    assert "drop_before_unmount" not in reclaim
    told = {"node.watermarks": '{"watermark_scale_factor": 200}'}
    raised = fixes(simulate(Node(negative=20e6, losses=(Loss(60, "direct", 0.2),), facts=told)))
    assert "watermark_scale_factor" not in raised


def test_rows_that_cannot_be_read_are_no_rows() -> None:
    bad = ("[", "{}", '[["curl", 1, "/x"]]', '[["curl", "many", "/x", "inf"]]', "[[1, 2, 3, 4]]", "null")
    events = tuple(
        Event("fs.lookup_failures", 10**6 * i, 10**6, {"rows": rows, "total": "x"}) for i, rows in enumerate(bad)
    )
    node = view(0, "node", "node-1", {}, {}, events)
    found = lookups(Snapshot(0, 100, node, node))
    assert found.total == 0
    assert not found.traced
    assert [(one.command, one.count) for one in found.lookers] == [("curl", 0)]


def test_what_the_tracer_read_of_the_library_decides_if_it_can_be_read() -> None:
    snapshot = simulate(Node(storms=(Storm(20, 60, 30_000, PROBE),), seconds=60.0))
    told = '{"command": "curl", "version": "3.87.1", "env": "auto", "file_system": "ext4"}'
    events = tuple(
        replace(event, attributes={**event.attributes, "nss": told}) if event.kind == "fs.lookup_failures" else event
        for event in snapshot.node.events
    )
    node = replace(snapshot.node, events=events)
    proposed = fixes(replace(snapshot, subject=node, node=node))
    assert proposed["nss_update"].verdict == "cannot_help"
    assert "3.87.1 does not probe on ext4" in proposed["nss_unset"].summary
    broken = tuple(replace(event, attributes={**event.attributes, "nss": "[1"}) for event in snapshot.node.events)
    node = replace(snapshot.node, events=broken)
    assert fixes(replace(snapshot, subject=node, node=node))["nss_update"].verdict == "unknown"


def test_a_pattern_belongs_to_the_cgroup_that_has_most_of_it() -> None:
    def looked(rows: str) -> tuple[Event, ...]:
        return (Event("fs.lookup_failures", 0, 10**6, {"rows": rows, "total": "100"}),)

    node = view(0, "node", "node-1", {}, {}, looked('[["curl", 0, "/a", 90], ["find", 0, "/b", 10]]'))
    one = view(1, "cgroup", "/one", {}, {}, looked('[["curl", 0, "/a", 20], ["find", 0, "/b", 10]]'))
    two = view(2, "cgroup", "/two", {}, {}, looked('[["curl", 0, "/a", 70]]'))
    found = lookups(Snapshot(0, 100, node, node, cgroups=(one, two)))
    assert [(looker.command, looker.cgroup.key if looker.cgroup else None) for looker in found.lookers] == [
        ("curl", "/two"),
        ("find", "/one"),
    ]
    assert found.lookers[0].pids == frozenset()

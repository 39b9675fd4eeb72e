"""A capture's stacks become one tree, its process table has one line per process, and seconds stay seconds."""

from __future__ import annotations

import numpy as np
import pytest

from jitterscope.captures import flame, tables, wire
from jitterscope.captures.flame import Flame, Selection
from jitterscope.captures.model import Capture
from jitterscope.pb import ingest_pb2 as pb
from tests.support.captures import capture

START_US = 1_790_000_000_000_000
S_US = 1_000_000


@pytest.fixture(scope="module")
def made() -> Capture:
    return wire.capture_of(capture(START_US))


def whole(made: Capture) -> Selection:
    return Selection(made.start_us, made.end_us + 1)


def paths(tree: Flame) -> dict[str, int]:
    """ "coredns/runtime.mcall": samples, for every node."""
    found: list[str] = []
    for node, parent in enumerate(tree.parent):
        own = tree.names[tree.name[node]]
        found.append(own if parent == node else f"{found[parent]}/{own}")
    return dict(zip(found, tree.samples, strict=True))


def test_kernel_frames_stand_on_user_frames_and_these_on_the_command(made: Capture) -> None:
    tree = flame.flame(made, whole(made))
    assert paths(tree) == {
        "all": 1980,
        "all/kubelet": 297,
        "all/kubelet/runtime.mcall": 297,
        "all/kubelet/runtime.mcall/syscall.unmount": 297,
        "all/kubelet/runtime.mcall/syscall.unmount/entry_SYSCALL_64": 297,
        "all/kubelet/runtime.mcall/syscall.unmount/entry_SYSCALL_64/cleanup_mnt": 297,
        "all/kubelet/runtime.mcall/syscall.unmount/entry_SYSCALL_64/cleanup_mnt/shrink_dcache_for_umount": 297,
        "all/kubelet/runtime.mcall/syscall.unmount/entry_SYSCALL_64/cleanup_mnt/shrink_dcache_for_umount/__dentry_kill": 297,  # noqa: E501
        "all/coredns": 693,
        "all/coredns/runtime.mcall": 693,
        "all/coredns/runtime.mcall/main.serve": 693,
        "all/kswapd0": 990,
        "all/kswapd0/kthread": 990,
        "all/kswapd0/kthread/shrink_slab": 990,
        "all/kswapd0/kthread/shrink_slab/super_cache_scan [kernel]": 990,
    }
    kinds = {tree.names[name]: kind for name, kind in zip(tree.name, tree.kind, strict=True)}
    assert (kinds["coredns"], kinds["main.serve"], kinds["kthread"]) == (flame.COMMAND, flame.USER, flame.KERNEL)
    assert tree.hidden_samples == 0


def test_a_selection_of_time_and_processes(made: Capture) -> None:
    stall = Selection(START_US + 3 * S_US, START_US + 6 * S_US)
    assert "all/coredns" not in paths(flame.flame(made, stall))
    assert paths(flame.flame(made, stall))["all"] == 594
    mine = Selection(made.start_us, made.end_us, np.array([False, True, False]))
    assert paths(flame.flame(made, mine))["all"] == 693
    nobody = flame.flame(made, Selection(0, 1))
    assert (nobody.samples, nobody.parent, nobody.names) == ([0], [0], ["all"])


def test_of_too_many_boxes_the_large_ones_stay(monkeypatch: pytest.MonkeyPatch, made: Capture) -> None:
    monkeypatch.setattr(flame, "MAX_NODES", 8)
    tree = flame.flame(made, whole(made))
    assert set(paths(tree)) == {
        "all", "all/coredns", "all/coredns/runtime.mcall", "all/coredns/runtime.mcall/main.serve", "all/kswapd0",
        "all/kswapd0/kthread", "all/kswapd0/kthread/shrink_slab",
        "all/kswapd0/kthread/shrink_slab/super_cache_scan [kernel]",
    }  # fmt: skip
    assert tree.hidden_samples == 297


def test_of_too_many_stacks_the_rare_ones_are_counted(monkeypatch: pytest.MonkeyPatch, made: Capture) -> None:
    monkeypatch.setattr(flame, "MAX_STACKS", 2)
    tree = flame.flame(made, whole(made))
    assert paths(tree)["all"] == 1683
    assert tree.hidden_samples == 297


def test_processes_by_what_they_used(made: Capture) -> None:
    lines, more = tables.lines(made, Selection(START_US + 3 * S_US, START_US + 6 * S_US))
    assert more == 0
    assert [(one.command, one.pid, one.user_us, one.system_us) for one in lines] == [
        ("kswapd0", 40, 0, 2_970_000), ("kubelet", 100, 0, 2_970_000), ("coredns", 200, 0, 0),
    ]  # fmt: skip
    assert [(one.states, one.threads, one.samples, one.kernel_samples) for one in lines] == [
        ({"R": 3}, 8, 297, 297), ({"R": 3}, 10, 297, 297), ({"D": 3}, 9, 0, 0),
    ]  # fmt: skip


def test_seconds_show_the_stall(made: Capture) -> None:
    seconds = tables.slices(made, whole(made))
    assert seconds.kernel_samples.tolist() == [99, 99, 99, 198, 198, 198, 99, 99, 99, 99]
    assert seconds.user_samples.tolist() == [99, 99, 99, 0, 0, 0, 99, 99, 99, 99]
    assert seconds.user_us.tolist()[2:4] == [950_000, 0]
    assert seconds.system_us.tolist()[2:4] == [1_030_000, 1_980_000]


def test_an_empty_capture_breaks_nothing() -> None:
    empty = wire.capture_of(pb.Capture(reason="late_tick", start_us=START_US, end_us=START_US))
    assert flame.flame(empty, whole(empty)).samples == [0]
    assert tables.lines(empty, whole(empty)) == ([], 0)
    assert tables.slices(empty, whole(empty)).user_samples.tolist() == [0]


def test_what_is_kept_is_what_was_sent_without_what_is_unknown() -> None:
    sent = capture(START_US, resource=3)
    content = sent.SerializeToString()
    strange = pb.Capture.FromString(content + b"\xfa\x7f\x03abc")  # a field that no version has yet
    assert len(strange.SerializeToString()) > len(content)
    kept = wire.unpack(wire.pack(strange))
    assert wire.message_of(kept, resource=3).SerializeToString(deterministic=True) == sent.SerializeToString(
        deterministic=True
    )

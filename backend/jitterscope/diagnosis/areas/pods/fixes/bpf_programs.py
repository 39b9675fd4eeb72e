"""Fixes for pods that wait for the eBPF verifier: newer Cilium, fewer programs; and one that cannot help."""

from __future__ import annotations

import shlex
from typing import Literal

from jitterscope.diagnosis.areas.pods.fixes.pod_start import OBJECTIVE, PREPULL
from jitterscope.diagnosis.areas.pods.readings.programs_seen import PROGRAMS, left_out
from jitterscope.diagnosis.areas.pods.readings.verifier import Verifying
from jitterscope.diagnosis.areas.pods.whatif.pod_start import StartsWithout, unchanged, without
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import cilium_versions as versions
from jitterscope.diagnosis.programs.versions import parse_version

Verdict = Literal["removes", "reduces", "cannot_help", "unknown"]

UPGRADE = "https://docs.cilium.io/en/stable/operations/upgrade/"
STATISTICS = "https://docs.kernel.org/admin-guide/sysctl/kernel.html#bpf-stats-enabled"
_HELM = "helm upgrade cilium cilium/cilium --namespace kube-system --reuse-values --set ipv6.enabled="
VERIFY = (
    "The time that bpf(2) takes for one pod (bpf_load_us over the pods that start) falls, and with it pod_start_sli_us."
)


def newer_cilium(snapshot: Snapshot, case: Verifying) -> Fix | None:
    """None where the programs are not Cilium's, or where its version has all of it."""
    if not versions.is_cilium(snapshot, case.owner.command):
        return None
    known = versions.version(snapshot)
    missing = [gate for gate in versions.GATES if not gate.open(known)]
    if not missing:
        return None
    target = missing[-1]
    unused = sorted({p.name for p in case.owner.programs if versions.unused_for_pods(p.name)})
    told: StartsWithout | None = None
    verdict: Verdict = "unknown"
    saved = ""
    if unused and versions.NO_NODEPORT_NAT in missing:
        told = _less(case, unused)
        verdict = _verdict(case, told)
        saved = f" On this node it saves at least {say.ms(case.owner.named(unused))} per pod."
    return Fix(
        id="newer_cilium",
        title=f"Upgrade Cilium to {target.since_text} or later",
        summary=" ".join(f"{gate.since_text} {gate.what}." for gate in missing) + saved,
        verdict=verdict,
        predicted=predictions(late_start_ratio=None if told is None else told.late_ratio),
        precondition=None
        if known
        else f"Works only if the agent is older than {target.since_text} (its version is not known here).",
        patches=[
            Patch(
                label="Helm, one minor version after the other",
                language="shell",
                text="helm repo update\nhelm upgrade cilium cilium/cilium --namespace kube-system "
                f"--reset-then-reuse-values --version {target.since_text}.PATCH",
            )
        ],
        caveats=[
            "Upgrade one minor version at a time, and run the pre-flight check of each.",
            "A managed network (GKE Dataplane V2, AKS) brings its own Cilium: upgrade the cluster instead.",
            "The new agent loads the programs of all pods on a node once.",
        ],
        verify=VERIFY,
        undo="helm rollback cilium --namespace kube-system",
        references=[*(gate.source for gate in missing), UPGRADE],
    )  # fmt: skip


def without_ipv6(snapshot: Snapshot, case: Verifying) -> Fix | None:
    """Where programs for IPv6 are seen among Cilium's; their names must be whole to be told from those for IPv4."""
    if not versions.is_cilium(snapshot, case.owner.command):
        return None
    names = sorted({p.name for p in case.owner.programs if "ipv6" in p.name or "icmp6" in p.name})
    if not names:
        return None
    told = _less(case, names)
    return Fix(
        id="without_ipv6",
        title="Disable IPv6 in Cilium if no pod uses it",
        summary=f"{say.count(len(names), 'program')} for IPv6 take {say.ms(case.owner.named(names))} of each start.",
        verdict=_verdict(case, told),
        predicted=predictions(late_start_ratio=told.late_ratio),
        precondition="Works only if no pod and no Service of the cluster uses IPv6 (kubectl get pods -A -o "
        "jsonpath='{..podIPs}').",
        patches=[
            Patch(
                label="Helm",
                language="shell",
                text=_HELM + "false",
            )
        ],
        caveats=["IPv6 addresses of pods and services stop working."],
        verify=VERIFY,
        undo=_HELM + "true",
        references=["https://docs.cilium.io/en/stable/helm-reference/", versions.NO_NODEPORT_NAT.source],
    )


def leave_out(snapshot: Snapshot, case: Verifying) -> Fix:
    """Whoever loads programs can leave out those that never run; the kernel can count runs."""
    owner = case.owner
    top = owner.programs[:3]
    names = ", ".join(f"{p.name} {say.ms(p.total_us / owner.sets)}" for p in top)
    return Fix(
        id="leave_out",
        title=f"Leave out programs of {owner.command} that never run",
        summary=f"The kernel verifies each program for every pod, whether it runs or not. The slowest: {names}. A "
        "program without run_cnt in the list has not run since counting was turned on: leave it out, or disable its "
        "feature. The Pod start page shows what each would save.",
        verdict="unknown",
        precondition=f"Works only if {owner.command} can be built or configured without them.",
        patches=[
            Patch(
                label="Which programs run (counting costs a few nanoseconds per run)",
                language="shell",
                text="sysctl kernel.bpf_stats_enabled=1; sleep 60\n"
                f"bpftool prog show | grep -A1 -E {shlex.quote('name (' + '|'.join(p.name[:15] for p in top) + ')')}\n"
                "sysctl kernel.bpf_stats_enabled=0",
            )
        ],
        caveats=["A tail call that is left out but reached drops the packet: leave out only what is never reached."],
        verify=VERIFY,
        undo="Load the previous set of programs.",
        references=[STATISTICS, "https://docs.kernel.org/bpf/verifier.html"],
    )


def images_first(case: Verifying) -> Fix:
    pulls = case.starts.phase("pod_image_pull_us")
    took = f" They take {say.seconds(pulls.total_us / case.starts.starts.n)} per pod, in addition." if pulls else ""
    return Fix(
        id="images_first",
        title=PREPULL,
        summary=f"Cannot help: the programs are verified while the sandbox is created, whatever the image.{took}",
        verdict="cannot_help",
        predicted=predictions(late_start_ratio=unchanged(case.starts.starts)),
        verify="pod_start_sli_us stays as it is.",
        undo="Nothing to undo.",
        references=[OBJECTIVE],
    )


def _less(case: Verifying, names: list[str]) -> StartsWithout:
    """The starts without the programs of these names."""
    return without(case.starts.starts, case.owner.sets_us() - case.owner.sets_us(names), case.covered_ratio)


def _verdict(case: Verifying, told: StartsWithout) -> Verdict:
    if told.removed_us < 0.1 * case.per_start_us:
        return "cannot_help"
    return "removes" if case.missed and told.late_ratio.high <= 0.01 else "reduces"


def _newer(before: Facts, after: Facts) -> bool:
    old, new = (parse_version(facts.get("node.cilium")) for facts in (before, after))
    return new is not None and (old is None or new > old)


def _left_out(before: Facts, after: Facts) -> frozenset[str]:
    return frozenset().union(*left_out(before.get(PROGRAMS), after.get(PROGRAMS)).values())


def _of_ipv6(name: str) -> bool:
    return "ipv6" in name or "icmp6" in name


_MEASURES = ("late_start_ratio", "verifier_ms_per_start", "start_ms")
FIXES = (
    FixKind(
        id="newer_cilium",
        title="Upgrade Cilium",
        precondition="Cilium installed by its own chart, older than the version that leaves programs out.",
        landing=Seen("The Cilium agent of the node has a newer version.", ("node.cilium", PROGRAMS), _newer),
        measures=_MEASURES,
    ),
    FixKind(
        id="without_ipv6",
        title="Disable IPv6 in Cilium",
        precondition="No pod and no Service of the cluster uses IPv6.",
        landing=Seen(
            "The agent no longer loads IPv6 programs for pods.",
            (PROGRAMS,),
            lambda before, after: bool(gone := _left_out(before, after)) and all(map(_of_ipv6, gone)),
        ),
        measures=_MEASURES,
    ),
    FixKind(
        id="leave_out",
        title="Leave out programs that never run",
        precondition="The agent that loads the programs can be built or configured without them.",
        landing=Seen(
            "Fewer programs are loaded per pod than before, and no others.",
            (PROGRAMS,),
            lambda before, after: bool(_left_out(before, after)),
        ),
        measures=_MEASURES,
        lab="bpf-startup --apply leave_out",
    ),
)

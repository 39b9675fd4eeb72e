"""Pod starts without programs as a what-if: the same starts, had these not been loaded for each pod."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.readings import bpf_loads, verifier
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings.bpf_loads import Owner
from jitterscope.diagnosis.areas.pods.readings.starts import PodStarts
from jitterscope.diagnosis.areas.pods.whatif.pod_start import without
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.whatif import Answer, Figure, InvalidSettingError, Settings, Trials, Tried


def answer(snapshot: Snapshot, trials: Trials) -> Answer:
    """By the time that each program took in each pod's start."""
    starts = pod_starts.read(snapshot)
    if not isinstance(starts, PodStarts):
        return Answer(cannot_tell="No pod start is known in this window.")
    owners = bpf_loads.loaders(snapshot)
    judged = verifier.find(snapshot)
    owner = judged.owner if isinstance(judged, verifier.Verifying) else next(iter(owners), None)
    if owner is None:
        return Answer(cannot_tell="No eBPF program was loaded in this window.")
    before = without(starts.starts, owner.sets_us() * 0)
    return Answer(
        settings={"without": ()},
        figures=(
            Figure("late_start_ratio", "Starts over 5 s", "ratio", before.late / max(1, before.starts)),
            *(
                Figure(f"p{100 * one.q:g}_ms", f"p{100 * one.q:g}", "ms", one.before_us / 1000)
                for one in before.percentiles
            ),
        ),
        tried=tuple(_tried(starts, owner, number, one) for number, one in enumerate(trials.settings)),
        choices={"without": tuple(dict.fromkeys(program.name for program in owner.programs))},
    )


def _tried(starts: PodStarts, owner: Owner, number: int, given: Settings) -> Tried:
    names = {program.name for program in owner.programs}
    value = given.get("without")
    chosen = value if isinstance(value, tuple) else ()
    unknown = sorted(set(chosen) - names)
    if unknown:
        why = f"{owner.command} loaded no program named {', '.join(unknown)} in this window."
        raise InvalidSettingError(number, "without", why)
    left_out = sorted(set(chosen) or names)
    removed = owner.sets_us() - owner.sets_us(left_out)
    said = without(starts.starts, removed, verifier.covered(owner, starts))
    return Tried(
        settings={"without": tuple(left_out)},
        figures=(
            Figure("late_start_ratio", "Starts over 5 s", "ratio", interval=said.late_ratio),
            *(
                Figure(f"p{100 * one.q:g}_ms", f"p{100 * one.q:g}", "ms", interval=_ms(one.after_us))
                for one in said.percentiles
            ),
        ),
        notes=(
            f"A start is {said.removed_us / 1000:,.0f} ms shorter.",
            "The interval covers what histograms do not show: how long each pod waited for the verifier.",
        ),
    )


def _ms(us: Interval) -> Interval:
    return Interval(low=us.low / 1000, high=us.high / 1000, expected=us.expected / 1000, level=us.level)

"""What an area declares about itself in `areas/<area>/area.py`, as one `AREA`.

The timeline, verification, what-if, and the UI are built from these declarations; nothing outside an area's folder
lists its metrics, facts, or figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Literal

from jitterscope.diagnosis.core import settings
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.landing import Facts
from jitterscope.diagnosis.core.quantity import Quantity, Unit
from jitterscope.diagnosis.core.snapshot import Event, FactValue, FloatArray, Snapshot
from jitterscope.diagnosis.core.whatif import Answer, Trials

# "clients": cgroups of the node whose resolv.conf is known, and therefore which DNS server they query.
Of = Literal["subject", "node", "processes", "dns_servers", "tcp_servers", "tcp_upstreams", "clients"]
# Facts of other cgroups that the evidence of a finding names. Their names begin with this, so that a limit of a
# neighbor is not taken for the subject's own.
NEIGHBOUR = "neighbour."
FactsOf = Of | Literal["neighbours"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a lane: the sum of a metric over resources of the subject's tree, times `scale`.

    `hot`: it is the trouble itself, and drawn in its color; bars only above `hot_above`, in the lane's unit. `quantile`
    (0..1): of a distribution's values, at each time it was recorded. `instead`: the metric to draw if the first has no
    data.
    """

    name: str
    metric: str
    style: Literal["area", "line", "bars"] = "line"
    hot: bool = False
    hot_above: float = 0.0
    of: Of = "subject"
    scale: float = 1.0
    quantile: float | None = None
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """Lines of one unit on the timeline. A lane without data is omitted.

    `fact` is the subject's fact that holds its limit, if the limit can change; `limit` is a constant one, in `unit`.
    """

    id: str
    title: str
    unit: Unit
    lines: tuple[Line, ...]
    fact: str | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Events of one kind on the timeline: `label` says what happened, the event's attribute `who` to whom."""

    kind: str
    label: str
    who: str = ""


@dataclass(frozen=True, slots=True)
class Amounts:
    """A measure in one window, per tick; NaN is missing.

    The figure is sum(part) / sum(whole) over ticks where both are known. For a rate, the whole is the recorded time in
    the measure's own unit of time (`seconds`). `events` counts occurrences that are rare (stalls, kills, starts): a
    test of two rates is then more powerful than one of sums.
    """

    part: FloatArray
    whole: FloatArray
    events: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Measure(Quantity):
    """A quantity that is compared before and after. `read` returns None if it was not measured at all.

    A plain number from `read` is a figure of the whole window, such as a quantile: shown, never tested.

    `needs`: metrics, distributions ("dns_latency_us"), and events ("pod.start") that it reads, each from the resources
    that record it. `decides`: a verdict can rest on it; the first known one decides. `least`: the smallest noticeable
    difference, in `unit`. `sign_of`: the id of a measure of which this one is only an early sign: if that one occurred
    before the change and is known on both sides, it decides instead.
    """

    needs: tuple[str, ...]
    read: Callable[[Snapshot], Amounts | float | None]
    decides: bool = True
    least: float = 0.0
    sign_of: str | None = None


def measured(
    of: Quantity,
    needs: tuple[str, ...],
    read: Callable[[Snapshot], Amounts | float | None],
    *,
    decides: bool = True,
    least: float = 0.0,
) -> Measure:
    """A declared quantity as a measure."""
    declared = {one.name: getattr(of, one.name) for one in fields(Quantity)}
    return Measure(**declared, needs=needs, read=read, decides=decides, least=least)


@dataclass(frozen=True, slots=True)
class Load:
    """The load on a subject in a window, per tick: before and after are compared only at similar load.

    The values are already rates in `unit`: a block's load is their mean without NaN. `factor`: how far a block's load
    may lie outside the range of the other side. `peak`: it is their highest value instead, and only blocks with bursts
    like those that came with the fault are compared: the mean hardly shows whether bursts ended. `causes`: those whose
    fixes are compared by it; empty: all of the area.
    """

    id: str
    unit: str  # as displayed in "1,200 queries/s"
    needs: tuple[str, ...]
    read: Callable[[Snapshot], FloatArray | None]
    factor: float = 1.25
    peak: bool = False
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WatchedFact:
    """A setting whose change can be a fix. `show` formats its value for display; None: not set, or not known.

    `show_of` is used instead if it takes more than one fact to describe it ("0.5 CPU" from quota and period).
    `known_by` is the fact of the same resource that is read together with this one: if that is known and this one is
    not, it is not set. Without one, an absent fact has not been read, and its first value is no change. A change reads
    "TITLE OLD → NEW", with `unit` after the numbers, or as `said` formats it from old, new, and the facts afterwards
    (None: the default form). `listed` False: the collector measures it or a scheduler sets it on its own, so it is not
    a change made by a person. `of_namespace`, `of_workload`: it is the same for each container of a namespace or
    workload in Kubernetes, and is changed there. `late`: a container has it only minutes after its start; until then
    it is as in the container that it replaces. `effective_s`: how long a program that is not restarted may go on as
    before the change.
    """

    fact: str
    title: str
    of: FactsOf
    show: Callable[[str | None], str | None] = lambda value: value
    show_of: Callable[[Facts], str | None] | None = None
    known_by: str | None = None
    unit: str = ""
    said: Callable[[str | None, str | None, Facts], str | None] | None = None
    listed: bool = True
    of_namespace: bool = False
    of_workload: bool = False
    late: bool = False
    effective_s: float = 0.0

    def text(self, facts: Facts) -> str | None:
        """The value, formatted for display."""
        return self.show(facts.get(self.fact)) if self.show_of is None else self.show_of(facts)

    def wording(self, old: str | None, new: str | None, facts: Facts) -> str:
        """A change of it, between values as returned by `text`."""
        own = None if self.said is None else self.said(old, new, facts)
        return own or settings.changed(self.title, settings.measured(old, self.unit), settings.measured(new, self.unit))


@dataclass(frozen=True, slots=True)
class Sighting:
    """A setting that no fact records but a window shows, such as when caches were last dropped.

    It is stored among the facts that show a fix, under `id`, which starts with "seen.". `read` returns its value in a
    window and since when (µs); None: not seen there, which never counts as a change. `needs` as in a measure.
    `effective_s` as for a WatchedFact.
    """

    id: str
    title: str
    needs: tuple[str, ...]
    read: Callable[[Snapshot], FactValue | None]
    show: Callable[[str | None], str | None] = lambda value: value
    effective_s: float = 0.0

    def text(self, facts: Facts) -> str | None:
        """The value, formatted for display."""
        return self.show(facts.get(self.id))


@dataclass(frozen=True, slots=True)
class History:
    """Earlier findings of `cause` that later ones are judged by: each becomes an event of its node.

    `event(onset_us, numbers)` builds it from the numbers of the finding's evidence, by evidence id; None: nothing
    useful. The `newest` ones before the window are read.
    """

    cause: str
    newest: int
    event: Callable[[int, Mapping[str, Mapping[str, float]]], Event | None]


@dataclass(frozen=True, slots=True)
class Control:
    """One control of a what-if, as the UI draws it; `least` and `most` in `unit`.

    `off` is the text shown if there is no such limit at all (null in the request); empty: it always has a value.
    """

    id: str
    title: str
    unit: Unit | Literal["%", "choice", "names"]
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    hint: str = ""
    off: str = ""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A what-if model of an area: what it answers, and its controls.

    `answer` reads everything from the snapshot of a cgroup or a node; it raises InvalidSettingError. `causes` are those
    whose incidents it belongs to; empty: all of the area. `recorded_by`: the metric of the subject whose first and last
    values bound the recorded time, if time without data would dilute rates.
    """

    id: str
    title: str
    summary: str
    controls: tuple[Control, ...]
    answer: Callable[[Snapshot, Trials], Answer]
    subject: Literal["cgroup", "node"] = "cgroup"
    causes: tuple[str, ...] = ()
    recorded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Area:
    """`id` is the folder's name and the first part of its causes' ids."""

    id: str
    title: str
    lanes: tuple[Lane, ...] = ()
    marks: tuple[Mark, ...] = ()
    # How its findings describe the harm, in display order.
    impact: tuple[Quantity, ...] = ()
    measures: tuple[Measure, ...] = ()
    load: tuple[Load, ...] = ()
    facts: tuple[WatchedFact, ...] = ()
    # Facts whose changes are listed but are not a fix of its causes.
    also_listed: tuple[WatchedFact, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    history: tuple[History, ...] = ()
    whatifs: tuple[WhatIf, ...] = ()
    # The effect of an actual change, by measure id: from a snapshot before it, and one with its settings.
    predict_change: Callable[[Snapshot, Snapshot], Mapping[str, Interval]] | None = None

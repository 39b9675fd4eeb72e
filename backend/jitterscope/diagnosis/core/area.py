"""What an area of trouble declares about itself in `areas/<area>/area.py`, as one `AREA`.

The timeline, verification, what-if and the UI are drawn from these declarations; nothing outside an area's folder lists
its metrics, facts or figures.
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
from jitterscope.diagnosis.core.whatif import Answer, Asked

# "clients": cgroups of the node whose resolv.conf is known, and with it who asks a DNS server.
Of = Literal["subject", "node", "processes", "dns_servers", "tcp_servers", "tcp_upstreams", "clients"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a lane: the sum of a metric over resources of the subject's tree, times `scale`.

    `hot`: it is the trouble itself, and drawn in its colour. `quantile` (0..1): of the values of a distribution, each
    time it was recorded. `instead`: the metric to draw where the first has no data.
    """

    name: str
    metric: str
    style: Literal["area", "line", "bars"] = "line"
    hot: bool = False
    of: Of = "subject"
    scale: float = 1.0
    quantile: float | None = None
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """Lines of one unit on the timeline. A lane without data is left out.

    `fact` of the subject is its limit, where that can change; `limit` one that never does, in `unit`.
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
    """A measure in one window, per tick; NaN is missing. The figure is sum(part) / sum(whole) where both are known.

    Of a rate the whole is the recorded time in the measure's own unit of time (`seconds`). `events` are what is counted
    where single events are few (stalls, kills, starts): a test of two rates then says more than one of sums.
    """

    part: FloatArray
    whole: FloatArray
    events: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Measure(Quantity):
    """A quantity that tells before from after. `read` returns None where it was not measured at all.

    A plain number from `read` is a figure of the whole window, such as a quantile: shown, never tested.

    `needs`: metrics, distributions ("dns_latency_us"), and events ("pod.start") that are read for it, each from the
    resources that record it. `decides`: a verdict may rest on it; the first that is known decides. `least`:
    the least difference that anybody would notice, in `unit`. `sign_of`: the id of a measure that this one only
    forebodes: where that happened before the change and is known on both sides, it decides instead.
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
    """What a subject had to do in a window, per tick: before and after are compared at like load only.

    The values are rates in `unit` already: a block's load is their mean, NaN left out.
    `factor`: how far a block's load may lie outside what the other side saw.
    """

    id: str
    unit: str  # as it is read in "1,200 queries/s"
    needs: tuple[str, ...]
    read: Callable[[Snapshot], FloatArray | None]
    factor: float = 1.25


@dataclass(frozen=True, slots=True)
class WatchedFact:
    """A setting whose change may be a fix. `show` writes its value for people; None: not set, or not known.

    `show_of` is used instead where it takes more than one fact to say it ("0.5 CPU" from quota and period).
    `known_by` is the fact of the same resource that is read together with this one: where that is known and this one
    is not, it is not set. Without one, a fact that is not there has not been read, and its first reading is no change.
    A change of it reads "TITLE OLD → NEW", with `unit` behind the numbers, or as `said` writes it from old, new and the
    facts after it (None: as the others). `listed` False: what a collector measures or a scheduler sets by itself, which
    is no change that somebody made.
    """

    fact: str
    title: str
    of: Of
    show: Callable[[str | None], str | None] = lambda value: value
    show_of: Callable[[Facts], str | None] | None = None
    known_by: str | None = None
    unit: str = ""
    said: Callable[[str | None, str | None, Facts], str | None] | None = None
    listed: bool = True

    def text(self, facts: Facts) -> str | None:
        """The value as people write it."""
        return self.show(facts.get(self.fact)) if self.show_of is None else self.show_of(facts)

    def wording(self, old: str | None, new: str | None, facts: Facts) -> str:
        """A change of it, between values as `text` gives them."""
        own = None if self.said is None else self.said(old, new, facts)
        return own or settings.changed(self.title, settings.measured(old, self.unit), settings.measured(new, self.unit))


@dataclass(frozen=True, slots=True)
class Sighting:
    """A setting that no fact tells but a window shows, such as when caches were dropped last.

    It stands among the facts that a fix lands by, under `id`, which starts with "seen.". `read` gives its value in a
    window and since when (µs); None: not seen there, which is never a change. `needs` as of a measure.
    """

    id: str
    title: str
    needs: tuple[str, ...]
    read: Callable[[Snapshot], FactValue | None]
    show: Callable[[str | None], str | None] = lambda value: value

    def text(self, facts: Facts) -> str | None:
        """The value as people write it."""
        return self.show(facts.get(self.id))


@dataclass(frozen=True, slots=True)
class History:
    """Earlier findings of `cause` that the next ones are judged by: each becomes an event of its node.

    `event(onset_us, numbers)` makes it from the numbers of the finding's evidence, by evidence id; None: it tells
    nothing. The `newest` before the window are read.
    """

    cause: str
    newest: int
    event: Callable[[int, Mapping[str, Mapping[str, float]]], Event | None]


@dataclass(frozen=True, slots=True)
class Control:
    """One knob of a what-if, as the UI draws it; `least` and `most` in `unit`.

    `off` is what it reads when there is no such limit at all (null in the request); empty: it always has a value.
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
    """A what-if model of an area: what it answers, and its knobs.

    `answer` reads everything from the snapshot of a cgroup or a node; it raises InvalidSettingError. `causes` are
    those whose incidents it belongs to; empty: all of the area. `recorded_by`: the metric of the subject whose first
    and last value bound what was recorded, where time without data would dilute rates.
    """

    id: str
    title: str
    summary: str
    controls: tuple[Control, ...]
    answer: Callable[[Snapshot, Asked], Answer]
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
    # What its findings say of the harm, in the order in which it is shown.
    impact: tuple[Quantity, ...] = ()
    measures: tuple[Measure, ...] = ()
    load: tuple[Load, ...] = ()
    facts: tuple[WatchedFact, ...] = ()
    # Facts whose change is listed among changes, but is no fix of its causes.
    also_listed: tuple[WatchedFact, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    history: tuple[History, ...] = ()
    whatifs: tuple[WhatIf, ...] = ()
    # What a change that was made would do, by measure id: from a snapshot before it, and one with its settings.
    predict_change: Callable[[Snapshot, Snapshot], Mapping[str, Interval]] | None = None

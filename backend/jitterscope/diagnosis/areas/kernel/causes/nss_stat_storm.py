"""NSS looks for thousands of made-up names each time that a program opens its database."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.kernel.fixes import dentries as fixes
from jitterscope.diagnosis.areas.kernel.fixes import nss as nss_fixes
from jitterscope.diagnosis.areas.kernel.readings import dentry_report as report
from jitterscope.diagnosis.areas.kernel.readings import kernel_memory, nss
from jitterscope.diagnosis.areas.kernel.readings.dentry_growth import Growth, growth, passing
from jitterscope.diagnosis.areas.kernel.readings.lookups import Looker, Lookups, lookups
from jitterscope.diagnosis.areas.kernel.readings.nss import Nss
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Evidence, Fix, Found, NotEnoughData, NotFound, Severity
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.severity import harm_of
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "kernel/nss_stat_storm"
NEEDS = ("dentries_negative", "lookup_failures")
# One start looks for up to 10,000 names twice; that is worth saying from a start on.
_LEAST, _RATIO = 5_000, 0.3
_PER_START = 10_000.0
# A failing access() that leaves nothing behind, where the node's own cost is not known [µs].
_LOOKUP_US = 3.3


@dataclass(frozen=True, slots=True)
class Storm:
    """NSS's lookups: `count` of `who.total`; what is known of the library; the growth that they leave, if any."""

    who: Lookups
    lookers: list[Looker]
    known: Nss
    grown: Growth | None
    starts_s: tuple[float, ...]

    @property
    def count(self) -> int:
        return sum(looker.count for looker in self.lookers)


@reading
def find(snapshot: Snapshot) -> Storm | NotFound | NotEnoughData:
    """NSS's lookups, or why there are none."""
    if gone := kernel_memory.missing(snapshot, ("dentries_negative",)):
        return kernel_memory.not_enough(ID, gone, snapshot)
    who = lookups(snapshot)
    if not who.traced:
        return _not_traced(snapshot)
    if gone := kernel_memory.missing(snapshot, NEEDS):
        return kernel_memory.not_enough(ID, gone, snapshot)
    lookers = nss.probes(who)
    count = sum(looker.count for looker in lookers)
    if count < _LEAST or count < _RATIO * who.total:
        return NotFound(
            cause=ID,
            reason=f"{count:,} of {who.total:,} failed lookups were for names that NSS makes up.",
            numbers={"nss": float(count), "of": float(who.total)},
        )
    return Storm(who, lookers, nss.known(snapshot), growth(snapshot), passing(snapshot))


def _not_traced(snapshot: Snapshot) -> NotFound | NotEnoughData:
    """Without a trace nobody knows whose names they are; where none come there is nothing to know."""
    now = kernel_memory.read(snapshot).negative_now
    if growth(snapshot) is None and not passing(snapshot):
        return NotFound(
            cause=ID,
            reason=f"Few failed lookups: {now:,.0f} negative dentries, and they do not grow.",
            numbers={"negative": now},
        )
    unknown = kernel_memory.not_enough(ID, ["lookup_failures"], snapshot)
    return unknown.model_copy(
        update={"reason": f"{unknown.reason} {now:,.0f} negative dentries are cached, but their program is not known."}
    )


def _traced(snapshot: Snapshot) -> bool:
    return has(snapshot.node, "lookup_failures")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    storm = find(snapshot)
    return _found(snapshot, storm) if isinstance(storm, Storm) else storm


def _found(snapshot: Snapshot, storm: Storm) -> Found:
    start, end = _extent(snapshot, storm)
    return Found(
        cause=ID,
        score=0.9,
        confidence="high",
        severity=_severity(storm),
        # What stays is paid for when it is dropped; what is gone again has cost the starts that were counted.
        harm="predicted" if storm.grown is not None else harm_of(_severity(storm), known=True),
        title=_title(storm),
        summary=_summary(snapshot, storm),
        onset_us=start,
        last_us=end,
        impact={},
        evidence=_evidence(snapshot, storm),
    )


def _severity(storm: Storm) -> Severity | None:
    """As its growth; where nothing stays, each start of the program is slower by 33 ms: info from three on."""
    if storm.grown is not None and storm.grown.severity is not None:
        return storm.grown.severity
    return "info" if storm.count >= 3 * _PER_START else None


def _title(storm: Storm) -> str:
    rate = f"{storm.who.rate * min(1.0, storm.count / storm.who.total):,.0f} made-up names/s"
    made = f"NSS in {report.maker(storm.lookers[0])} probes the file system with {rate}"
    if storm.grown is not None:
        return f"{made}, which stay cached: {report.hurts_when(storm.grown)}"
    return f"{made}, which slows every start of the program"


def _summary(snapshot: Snapshot, storm: Storm) -> str:
    known = storm.known
    each = dentry_drop.creation_us(snapshot) or _LOOKUP_US
    parts = [
        f"{storm.count:,} of {storm.who.total:,} failed lookups were for names that NSS makes up. Each start of a "
        "program looks up as many as 10,000 of them at a time, which takes "
        f"{10_000 * each / 1000:,.0f} ms of kernel time."
    ]
    if storm.grown is not None:
        parts.append(
            f"{storm.grown.gained:,.0f} of the names stayed cached in {storm.grown.seconds:,.0f} s, as with NSS "
            "before 3.52."
        )
    elif storm.starts_s:
        parts.append(
            f"The names were freed immediately ({say.count(len(storm.starts_s), 'time')}), as with NSS 3.52 or later."
        )
    if known.version_text is not None:
        value = f"NSS_SDB_USE_CACHE is {known.env!r}" if known.env is not None else "NSS_SDB_USE_CACHE is not set"
        place = f", and its database is on {known.file_system}" if known.file_system else ""
        parts.append(f"The library is {known.version_text}, {value}{place}.")
    return " ".join(parts)


def _extent(snapshot: Snapshot, storm: Storm) -> tuple[int, int]:
    events = [
        event
        for view in (snapshot.node, *snapshot.cgroups)
        for event in view.events
        if event.kind == "fs.lookup_failures"
    ]
    low = max(snapshot.start_us, min(event.start_us for event in events))
    high = min(snapshot.end_us, max(event.end_us for event in events))
    if storm.grown is not None:
        low = min(low, snapshot.start_us + storm.grown.start * snapshot.step_us)
    return min(low, snapshot.end_us - snapshot.step_us), max(high, low + snapshot.step_us)


def _evidence(snapshot: Snapshot, storm: Storm) -> list[Evidence]:
    found = [
        Evidence(
            id="nss_names",
            statement="Failed lookups for names that NSS makes up (…dOeSnotExist…)",
            value=f"{storm.count:,} of {storm.who.total:,}",
            comparison="no other program uses these names",
            numbers={"hits": float(storm.count), "of": float(storm.who.total)},
            series=kernel_memory.refs(snapshot, "lookup_failures"),
        )
    ]
    if (who := report.who_evidence(snapshot, storm.who, storm.lookers)) is not None:
        found.append(who)
    dentries = kernel_memory.read(snapshot)
    if storm.grown is not None:
        found.append(report.stock(snapshot, storm.grown.total, storm.grown.bytes))
        for item in (
            report.horizon(snapshot, storm.grown),
            report.pause_evidence(snapshot, storm.grown.pause),
        ):
            found += [] if item is None else [item]
    else:
        peak = float(np.nanmax(dentries.negative) - np.nanmin(dentries.negative))
        found.append(
            Evidence(
                id="passing",
                statement="Times that thousands of negative dentries appeared and disappeared",
                value=f"{len(storm.starts_s)}",
                comparison=f"maximum: {peak:,.0f}",
                numbers={"times": float(len(storm.starts_s)), "peak": peak},
                series=kernel_memory.refs(snapshot, "dentries_negative"),
            )
        )
    known = storm.known
    if known.version is not None:
        found.append(
            Evidence(
                id="library",
                statement="NSS version that the process has loaded, and its setting",
                value=f"{known.version_text}, NSS_SDB_USE_CACHE "
                + ("not set" if known.env is None else repr(known.env)),
                comparison=None if known.file_system is None else f"database on {known.file_system}",
                numbers={"major": float(known.version[0]), "minor": float((*known.version, 0)[1])},
            )
        )
    return found


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    storm = find(snapshot)
    if not isinstance(storm, Storm):
        return []
    proposals = nss_fixes.propose(snapshot, storm.lookers, storm.known)
    if storm.grown is not None:
        more = [fixes.drop_caches(snapshot), fixes.dentry_limit(snapshot, storm.grown.pause)]
        proposals += [fix for fix in more if fix is not None]
    return proposals


CAUSE = Cause(
    id=ID,
    title="NSS probes the file system with made-up names",
    summary="Each start of a program that uses NSS (curl, git, certutil, …) looks up thousands of names that do not "
    "exist.",
    mechanism="To decide whether a copy of its database in memory pays off, libnss3 times lookups of made-up names, "
    "10,000 of them or for 33 ms, next to the database and in a temporary directory. This slows every start. Before "
    "NSS 3.52 the names also stay behind as negative dentries: a health check with curl every second leaves hundreds "
    "of millions per day.",
    needs=NEEDS,
    rivals=("kernel/negative_dentry_growth",),
    detect=detect,
    propose=propose,
    false_positives=("A program that imitates these names, as a test does.",),
    references=(nss.SOURCE, nss.BUG_LOCAL, nss.BUG_LEFT, nss.RHEL_7),
    subjects=("node",),
    signs=Signs(("lookup_failures",), _traced),
)

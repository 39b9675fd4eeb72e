"""A program looks for ever new names that do not exist, and the kernel remembers each of them."""

from __future__ import annotations

from jitterscope.diagnosis.areas.kernel.fixes import dentries as fixes
from jitterscope.diagnosis.areas.kernel.readings import dentry_report as report
from jitterscope.diagnosis.areas.kernel.readings import kernel_memory, nss
from jitterscope.diagnosis.areas.kernel.readings.dentry_growth import Growth, growth
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "kernel/negative_dentry_growth"
NEEDS = ("dentries", "dentries_negative")


def _grown(snapshot: Snapshot) -> bool:
    return growth(snapshot) is not None


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := kernel_memory.missing(snapshot, NEEDS):
        return kernel_memory.not_enough(ID, gone, snapshot)
    grown = growth(snapshot)
    now = kernel_memory.read(snapshot).negative_now
    if grown is None:
        return NotFound(
            cause=ID,
            reason=f"{now:,.0f} negative dentries; growth in this window is background noise.",
            numbers={"negative": now},
        )
    if (share := nss.share(grown.who)) >= 0.5:
        return NotFound(
            cause=ID,
            reason=f"{say.percent(share)} of the failed lookups are made-up names with which NSS probes a file system.",
            numbers={"nss_ratio": share},
        )
    return _found(snapshot, grown)


def _found(snapshot: Snapshot, grown: Growth) -> Found:
    severity = grown.severity
    return Found(
        cause=ID,
        score=round(min(0.85, 0.5 + 0.1 * (severity is not None) + 0.2 * grown.who.traced + 0.05 * grown.now), 4),
        confidence=_confidence(grown),
        severity=severity,
        # It costs nothing while it grows: what drops the names pays.
        harm="predicted",
        title=_title(grown),
        summary=_summary(grown),
        onset_us=snapshot.start_us + grown.start * snapshot.step_us,
        last_us=snapshot.start_us + grown.end * snapshot.step_us,
        impact={},
        evidence=_evidence(snapshot, grown),
    )


def _confidence(grown: Growth) -> Confidence:
    """Without a trace it may as well be NSS, or names of files that were removed."""
    if grown.by_removal is None:
        return "low"
    return "medium" if grown.by_removal else "high"


def _title(grown: Growth) -> str:
    rate = f"{grown.rate:,.0f}/s"
    if grown.by_removal:
        return f"Names of removed files fill the dentry cache at {rate}: {report.hurts_when(grown)}"
    if not grown.who.lookers:
        return f"Names that do not exist fill the dentry cache at {rate}: {report.hurts_when(grown)}"
    top = grown.who.lookers[0]
    return (
        f"{report.maker(top)} looks up names like {report.shortened(top.pattern, 50)} that do not exist: {rate} stay "
        f"cached; {report.hurts_when(grown)}"
    )


def _summary(grown: Growth) -> str:
    parts = [
        f"{grown.gained:,.0f} negative dentries were added in {grown.seconds:,.0f} s and stayed; all "
        f"{grown.total:,.0f} take {say.mebibytes(grown.bytes)}. Nothing frees them while memory is free."
    ]
    if (pause := grown.pause) is not None:
        parts.append(
            f"Freeing them (by an unmount, removal of the pod or the directory, or reclaim) keeps a CPU busy in the "
            f"kernel for about {report.span(pause.seconds)}, estimated from {pause.cost.basis}."
        )
    if not grown.who.traced:
        parts.append("Failed lookups were not traced here, so the program is not known.")
    elif grown.by_removal:
        parts.append("Too few lookups failed for this growth: they are names of files that were created and removed.")
    return " ".join(parts)


def _evidence(snapshot: Snapshot, grown: Growth) -> list[Evidence]:
    found = [
        Evidence(
            id="growth",
            statement="Negative dentries added that stayed",
            value=f"{grown.gained:,.0f} in {grown.seconds:,.0f} s",
            comparison=f"{grown.rate:,.0f}/s",
            numbers={"gained": grown.gained, "seconds": grown.seconds, "per_second": grown.rate},
            series=kernel_memory.refs(snapshot, "dentries_negative", "dentries", low=grown.start, high=grown.end),
        ),
        report.stock(snapshot, grown.total, grown.bytes),
    ]
    if (when := report.horizon(snapshot, grown)) is not None:
        found.append(when)
    if (pause := report.pause_evidence(snapshot, grown.pause)) is not None:
        found.append(pause)
    who = report.who_evidence(snapshot, grown.who, grown.who.lookers)
    if who is not None and not grown.by_removal:
        found.append(who)
    return found


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    grown = growth(snapshot)
    if grown is None:
        return []
    top = grown.who.lookers[0] if grown.who.lookers and not grown.by_removal else None
    proposals = [
        fixes.stop_lookups(snapshot, top) if not grown.by_removal else fixes.forget_removed(snapshot),
        fixes.memory_limit(snapshot, top),
        fixes.dentry_limit(snapshot, grown.pause),
        fixes.drop_caches(snapshot),
        fixes.tmpfs(top),
        fixes.cache_pressure(snapshot, grown.total),
        None if grown.by_removal else fixes.dentry_negative(snapshot),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Negative dentries pile up",
    summary="A program keeps looking up new names that do not exist, and the kernel caches each of them.",
    mechanism="The kernel caches the result of every lookup as a dentry, even if there is no such file, and keeps it "
    "until memory runs short. Names that are never looked up twice (probes, random or numbered file names) make the "
    "cache grow without limit. The growth itself costs nothing. The cost comes all at once when the file system is "
    "unmounted, the pod is deleted, or memory is reclaimed: about half a microsecond of kernel time each, with a lock "
    "held.",
    needs=NEEDS,
    rivals=("kernel/nss_stat_storm",),
    detect=detect,
    propose=propose,
    false_positives=(
        "A build or a package manager that looks up a hundred thousand names once: it ends, and the next reclaim "
        "frees its dentries.",
    ),
    references=(
        "https://docs.kernel.org/admin-guide/sysctl/fs.html",
        "https://lwn.net/Articles/814535/",
        "https://lwn.net/Articles/894098/",
    ),
    subjects=("node",),
    signs=Signs(NEEDS, _grown),
)

"""Fixes for NSS's measuring of file systems: the variable, an update, each gated by what is known of the library."""

from __future__ import annotations

import shlex
from dataclasses import replace

from jitterscope.diagnosis.areas.kernel.readings import figures, nss, settings
from jitterscope.diagnosis.areas.kernel.readings.lookups import Looker, lookups
from jitterscope.diagnosis.areas.kernel.readings.nss import Nss
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Fix, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

_VARIABLE = "NSS_SDB_USE_CACHE"
_VERIFY = "Failed lookups for names like …_dOeSnotExist_.db end (fs.lookup_failures of the node)."


def propose(snapshot: Snapshot, lookers: list[Looker], known: Nss) -> list[Fix]:
    where = next((one.cgroup for one in lookers if one.cgroup is not None), None)
    who = ", ".join(sorted({one.command for one in lookers})[:3])
    found = [variable(snapshot, where, who, known), update(snapshot, who, known), unset(snapshot, where, known)]
    return [fix for fix in found if fix is not None]


def variable(snapshot: Snapshot, where: ResourceView | None, who: str, known: Nss) -> Fix | None:
    """`no` stops it in every version; not where it is set to yes or no already."""
    if known.stopped:
        return None
    texts, undo = patches.environment(_inside(snapshot, where), {_VARIABLE: "no"})
    now = f"Any value other than yes or no, like {known.env!r} now, makes it probe. " if known.env is not None else ""
    return Fix(
        id="nss_variable",
        title=f"{_VARIABLE}=no",
        summary=f"NSS probes only to decide whether to keep a copy of its database in memory. {now}With yes or no, it "
        "does not probe. With no, nothing is copied.",
        verdict="removes",
        predicted=predictions(made_dentries_per_s=figures.made_without(snapshot, nss.share(lookups(snapshot)))),
        precondition=None
        if where is not None
        else f"Works only if it is known where {who} is started: its own environment must have it.",
        patches=texts,
        caveats=["On a slow network file system, yes is faster."],
        verify=_VERIFY,
        undo=_back(undo, known),
        references=[nss.SOURCE, nss.BUG_LOCAL],
    )


def update(snapshot: Snapshot, who: str, known: Nss) -> Fix | None:
    """To a version that does not measure here, or at least leaves nothing behind; None where it is new enough."""
    if known.stopped:
        return None
    kernel, system = snapshot.node.fact("node.kernel") or "", snapshot.node.fact("node.os") or ""
    notes = ["The container's own library counts, not the node's."]
    if ".el7" in kernel or "Red Hat Enterprise Linux Server 7" in system or "CentOS Linux 7" in system:
        notes.append("On RHEL 7 the fix is in RHSA-2020:4076.")
    references = [nss.BUG_LEFT, nss.BUG_LOCAL, nss.RHEL_7]
    if known.version is not None and known.version >= nss.SINCE_REMOVED:
        return Fix(
            id="nss_update",
            title="Update NSS",
            summary=f"Cannot help: {known.version_text} is new enough and leaves no names behind. It still probes "
            + (
                f"because {_VARIABLE} is {known.env!r}."
                if known.env is not None
                else "on a network or FUSE file system."
            ),
            verdict="cannot_help",
            verify=_VERIFY,
            undo="Nothing to undo.",
            references=references,
        )
    if known.version is None:
        gains = "3.52 removes the directory that it probes; 3.38 does not probe local file systems."
    elif known.env is None and known.remote is False:
        gains = f"{known.version_text} probes at each start; from 3.38 on it does not on a local file system."
    else:
        gains = f"{known.version_text} leaves the names behind. Since 3.52 the kernel frees them immediately."
    removes = known.env is None and known.remote is False
    return Fix(
        id="nss_update",
        title="Update NSS to 3.52 or later",
        summary=gains,
        verdict="removes" if removes else "reduces" if known.version is not None else "unknown",
        precondition=f"Requires an image with the newer library for {who}"
        + ("." if known.version is not None else "; the version in use must be older (it is not known)."),
        caveats=notes,
        verify=_VERIFY,
        undo="Use the previous image.",
        references=references,
    )


def unset(snapshot: Snapshot, where: ResourceView | None, known: Nss) -> Fix | None:
    """Helps where the value itself makes a new library measure on a local file system."""
    if known.env is None or known.stopped or known.skips_local is not True or known.remote is not False:
        return None
    texts, undo = patches.environment(_inside(snapshot, where), {_VARIABLE: None})
    return Fix(
        id="nss_unset",
        title=f"Unset {_VARIABLE}",
        summary=f"Without the variable NSS {known.version_text} does not probe on {known.file_system}.",
        verdict="removes",
        patches=texts,
        verify=_VERIFY,
        undo=_back(undo, known),
        references=[nss.SOURCE, nss.BUG_LOCAL],
    )


def _inside(snapshot: Snapshot, where: ResourceView | None) -> Snapshot:
    return snapshot if where is None else replace(snapshot, subject=where)


def _back(undo: str, known: Nss) -> str:
    """The command that sets the variable to what it is now."""
    if known.env is None:
        return undo
    value = shlex.quote(known.env)
    return undo.replace(f"unset {_VARIABLE}", f"export {_VARIABLE}={value}").replace(
        f" {_VARIABLE}-", f" {_VARIABLE}={value}"
    )


def _seen(before: Facts, after: Facts) -> tuple[Nss, Nss] | None:
    """The library before and after; None unless both were seen."""
    old, new = before.get(settings.NSS), after.get(settings.NSS)
    return None if old is None or new is None else (nss.parsed(old), nss.parsed(new))


def _variable(before: Facts, after: Facts) -> tuple[str, str] | None:
    """The variable of the container that starts the program, before and after; None unless both were read."""
    old, new = before.get(settings.NSS_VARIABLE), after.get(settings.NSS_VARIABLE)
    return None if old is None or new is None else (old, new)


def _decided(before: Facts, after: Facts) -> bool:
    seen, read = _seen(before, after), _variable(before, after)
    if seen is not None and seen[1].stopped and not seen[0].stopped:
        return True
    return read is not None and nss.stops(read[1]) and not nss.stops(read[0])


def _removed(before: Facts, after: Facts) -> bool:
    seen, read = _seen(before, after), _variable(before, after)
    if seen is not None and seen[0].env is not None and seen[1].env is None:
        return True
    return read is not None and read[0] != "" and read[1] == ""


def _updated(before: Facts, after: Facts) -> bool:
    seen = _seen(before, after)
    return seen is not None and (seen[1].version or ()) > (seen[0].version or ())


_MEASURES = ("made_dentries_per_s",)
FIXES = (
    FixKind(
        id="nss_variable",
        title=f"Set {_VARIABLE}=no",
        precondition="The environment of the program that opens the NSS database can be set.",
        landing=Seen(
            f"A program with NSS, or the container that starts it, runs with {_VARIABLE} set to yes or no.",
            (settings.NSS, settings.NSS_VARIABLE),
            _decided,
        ),
        measures=_MEASURES,
        lab="negative-dentries --variant nss --apply nss_variable",
    ),
    FixKind(
        id="nss_update",
        title="Update NSS to 3.52 or later",
        precondition="An image with the newer library.",
        landing=Seen("A program has a newer NSS loaded.", (settings.NSS,), _updated),
        measures=_MEASURES,
    ),
    FixKind(
        id="nss_unset",
        title=f"Unset {_VARIABLE}",
        precondition="NSS 3.38 or later, and its database on a local file system.",
        landing=Seen(
            f"A program with NSS, or the container that starts it, runs without {_VARIABLE}.",
            (settings.NSS, settings.NSS_VARIABLE),
            _removed,
        ),
        measures=_MEASURES,
    ),
)

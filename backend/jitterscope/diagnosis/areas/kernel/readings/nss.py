"""Network Security Services (libnss3): when it measures a file system with thousands of names that do not exist.

Opening its SQL database, NSS may look for up to 10,000 made-up names (33 ms at most) beside it and in a temporary
directory, to learn whether a cache pays. By lib/softoken/sdb.c of nss-dev/nss (707d2ba13, 23dc96bf6):

| version | NSS_SDB_USE_CACHE | looks for names                        | and leaves them behind |
| ------- | ----------------- | -------------------------------------- | ---------------------- |
| any     | yes, no           | never                                  |                        |
| < 3.38  | unset or anything | always                                 | yes                    |
| ≥ 3.38  | unset             | where the database is on NFS, FUSE, …  | until 3.52             |
| ≥ 3.38  | anything else     | always                                 | until 3.52             |

From 3.52 on it looks in a temporary directory that it removes, and the kernel forgets the names with it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from jitterscope.diagnosis.areas.kernel.readings.lookups import Looker, Lookups
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.versions import parse

SOURCE = "https://github.com/nss-dev/nss/blob/master/lib/softoken/sdb.c"
BUG_LOCAL = "https://bugzilla.mozilla.org/show_bug.cgi?id=1456888"
BUG_LEFT = "https://bugzilla.mozilla.org/show_bug.cgi?id=1603801"
RHEL_7 = "https://access.redhat.com/errata/RHSA-2020:4076"
# Skips the probe on local file systems; removes the directory it looked in.
SINCE_LOCAL, SINCE_REMOVED = (3, 38), (3, 52)
# "dOeSnotExist" of sdb.c; the collector may have masked letters as hexadecimal digits.
_NAME = re.compile(r"[d%][o][e%]snot[e%]xist", re.IGNORECASE)
_REMOTE = frozenset({"nfs", "nfs4", "fuse", "fuseblk", "coda", "ncpfs", "smb", "smb2", "cifs", "afs"})


def stops(value: str | None) -> bool:
    """Whether a value of NSS_SDB_USE_CACHE ends the probing."""
    return (value or "").lower() in ("yes", "no")


@dataclass(frozen=True, slots=True)
class Nss:
    """What is known of the library in the process that looks names up; None if not observed."""

    version: tuple[int, ...] | None = None
    version_text: str | None = None
    env: str | None = None
    env_known: bool = False
    file_system: str | None = None

    @property
    def stopped(self) -> bool:
        """Whether the variable says yes or no: then nothing is probed."""
        return stops(self.env)

    @property
    def skips_local(self) -> bool | None:
        return None if self.version is None else self.version >= SINCE_LOCAL

    @property
    def remote(self) -> bool | None:
        return None if self.file_system is None else self.file_system.lower().split(".")[0] in _REMOTE


def is_probe(looker: Looker) -> bool:
    """Whether the pattern is that of NSS's made-up names."""
    return _NAME.search(looker.pattern) is not None


def probes(who: Lookups) -> list[Looker]:
    return [looker for looker in who.lookers if is_probe(looker)]


def share(who: Lookups) -> float:
    """The share (0..1) of NSS's names in all traced failed lookups."""
    return min(1.0, sum(looker.count for looker in probes(who)) / max(1, who.total))


def read_while_traced(snapshot: Snapshot) -> list[tuple[int, str]]:
    """What the tracer read of programs while they looked names up: until when (µs), and the JSON for `parsed`."""
    return [
        (event.end_us, event.attributes["nss"])
        for view in (snapshot.node, *snapshot.cgroups)
        for event in view.events
        if event.kind == "fs.lookup_failures" and "nss" in event.attributes
    ]


def known(snapshot: Snapshot) -> Nss:
    """The library of the traced program."""
    told = read_while_traced(snapshot)
    return parsed(told[-1][1]) if told else Nss()


def parsed(text: str) -> Nss:
    """The JSON that an event fs.lookup_failures has of the library; unreadable values are unknown."""
    try:
        told = json.loads(text)
    except ValueError:
        return Nss()
    if not isinstance(told, dict):
        return Nss()
    version = str(told["version"]) if told.get("version") else None
    env, kind = told.get("env"), told.get("file_system")
    return Nss(
        parse(version), version, None if env is None else str(env), True, None if not kind else str(kind)
    )  # fmt: skip

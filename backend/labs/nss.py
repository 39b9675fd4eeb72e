"""The real NSS: certutil, which opens a certificate database just as curl and others built with NSS do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from labs import packages
from labs.errors import LabError

_PACKAGE, _LIBRARY = "libnss3-tools", "libnss3"


@dataclass(frozen=True, slots=True)
class Certutil:
    """`command` lists the certificates of an empty database; `environment` is what it needs."""

    command: list[str]
    environment: dict[str, str]


def certutil(folder: Path, use_cache: str) -> Certutil:
    """certutil with a new database in `folder`, and NSS_SDB_USE_CACHE set to `use_cache` ("": not set).

    Debian's, unpacked into the cache with the library of the same build; JITTERSCOPE_CERTUTIL overrides the program.
    """
    given = os.environ.get("JITTERSCOPE_CERTUTIL")
    if given:
        if not os.access(given, os.X_OK):
            raise LabError(f"JITTERSCOPE_CERTUTIL={given} is not an executable file.")
        program, environment = given, {}
    else:
        unpacked = packages.unpacked(_PACKAGE, _LIBRARY)
        program, environment = str(unpacked / "usr" / "bin" / "certutil"), packages.environment(unpacked)
    database = folder / "nssdb"
    database.mkdir()
    packages.run([program, "-N", "--empty-password", "-d", f"sql:{database}"], environment=environment)
    if use_cache:
        environment = {**environment, "NSS_SDB_USE_CACHE": use_cache}
    return Certutil([program, "-L", "-d", f"sql:{database}"], environment)

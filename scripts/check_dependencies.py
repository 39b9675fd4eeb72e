"""Checks that dependencies match the locks and have acceptable licenses; `--holes`: lists known vulnerabilities.

It queries the OSV database for the locked versions of all three languages (https://google.github.io/osv.dev/). It exits
with 3 if the database cannot be reached: then nothing is known, which differs from nothing found.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
OSV = "https://api.osv.dev/v1/querybatch"
UNREACHABLE = 3
_AT_ONCE = 500
# SPDX names. LGPL and MPL cover their own files, which are used unchanged; OFL is for fonts, CC-BY for a list of
# browsers.
ALLOWED = {
    "0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC0-1.0", "ISC",
    "LGPL-3.0-only", "MIT", "MIT-0", "MPL-2.0", "OFL-1.1", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
# Names in packages that predate SPDX: classifiers, and free text.
CALLED = (
    (r"mozilla public license 2\.0|mpl[- ]2", "MPL-2.0"), (r"apache", "Apache-2.0"), (r"\bmit\b", "MIT"),
    (r"\bisc\b", "ISC"), (r"\bbsd\b", "BSD-3-Clause"),
)  # fmt: skip
# The wording of a license file; a Go module has nothing else.
WRITTEN = (
    ("Apache License", "Apache-2.0"),
    ("Mozilla Public License", "MPL-2.0"),
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Redistribution and use in source and binary forms", "BSD-3-Clause"),
    ("Permission to use, copy, modify, and", "ISC"),
)
_FREE = ("OSI Approved", "DFSG approved")  # classifiers that name no license


@dataclass(frozen=True, slots=True)
class Dependency:
    """One dependency in a lock. `ecosystem`: OSV's name; `installed` None: it is only for another platform."""

    ecosystem: str
    name: str
    version: str
    installed: str | None
    licence: str


def dependencies() -> list[Dependency]:
    return [*_python(), *_node(), *_go()]


def _python() -> Iterator[Dependency]:
    here = {_plain(one.name): one for one in metadata.distributions()}
    locked = tomllib.loads((ROOT / "backend/uv.lock").read_text())["package"]
    # Some have a version per range of Python versions.
    versions: dict[str, set[str]] = {}
    for package in locked:
        versions.setdefault(package["name"], set()).add(package["version"])
    for package in locked:
        found = here.get(_plain(package["name"]))
        installed = None if found is None else found.version
        if "registry" in package["source"] and installed not in versions[package["name"]] - {package["version"]}:
            licence = "" if found is None else _python_licence(found.metadata)
            yield Dependency("PyPI", package["name"], package["version"], installed, licence)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _python_licence(of: metadata.PackageMetadata) -> str:
    if expressions := of.get_all("License-Expression"):
        return str(expressions[0])
    classifiers = [one.split(" :: ")[-1] for one in of.get_all("Classifier") or [] if one.startswith("License :: ")]
    named = [one for one in classifiers if one not in _FREE] or [
        text.partition("\n")[0] for text in of.get_all("License") or []
    ]
    return " OR ".join(_spdx(one) for one in named)


def _spdx(text: str) -> str:
    return text if text in ALLOWED else next((id_ for words, id_ in CALLED if re.search(words, text, re.I)), text)


def _node() -> Iterator[Dependency]:
    locked = json.loads((ROOT / "frontend/package-lock.json").read_text())["packages"]
    here = json.loads((ROOT / "frontend/node_modules/.package-lock.json").read_text())["packages"]
    for path, package in locked.items():
        if path:
            found = here.get(path, {}).get("version")
            name = package.get("name", path.rpartition("node_modules/")[2])
            yield Dependency("npm", name, package["version"], found, package.get("license", ""))


def _go() -> Iterator[Dependency]:
    command = ["go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", "./cmd/..."]
    listed = subprocess.run(command, cwd=ROOT / "collector", capture_output=True, text=True, check=True).stdout
    for line in sorted(set(listed.split("\n"))):
        path, version, folder = [*line.split("\t"), "", ""][:3]
        if version:
            yield Dependency(
                "Go", path, version.removeprefix("v"), version.removeprefix("v"), _go_licence(Path(folder))
            )


def _go_licence(folder: Path) -> str:
    texts = [
        file.read_text(errors="replace")
        for file in sorted(folder.glob("LICEN[CS]E*")) + sorted(folder.glob("COPYING*"))
    ]
    return next((id_ for words, id_ in WRITTEN for text in texts if words in text), "")


def allows(expression: str) -> bool:
    """Whether an SPDX expression leaves us a license that allows shipping. AND binds tighter than OR."""
    inner = re.compile(r"\(([^()]*)\)")
    while (nested := inner.search(expression)) is not None:
        expression = expression.replace(nested[0], "MIT" if allows(nested[1]) else "none")
    return any(all(one.strip() in ALLOWED for one in part.split(" AND ")) for part in expression.split(" OR "))


def wrong(found: Iterable[Dependency]) -> list[str]:
    """Mismatches with the locks and with the list of licenses."""
    lines = []
    for one in found:
        if one.installed is None:
            continue
        if one.installed != one.version:
            lines.append(
                f"{one.name}: {one.installed} is installed, the lock says {one.version}. Run `make deps build`."
            )
        if not allows(one.licence):
            lines.append(f"{one.name} {one.version}: its license is {one.licence or 'not declared'}. See ALLOWED.")
    return lines


def holes(found: Sequence[Dependency], url: str = OSV) -> list[str]:
    """Known vulnerabilities of the locked versions. Raises httpx.HTTPError if the database does not answer."""
    lines = []
    for first in range(0, len(found), _AT_ONCE):
        some = found[first : first + _AT_ONCE]
        asked = [{"package": {"ecosystem": one.ecosystem, "name": one.name}, "version": one.version} for one in some]
        answer = httpx.post(url, json={"queries": asked}, timeout=60).raise_for_status()
        results: list[dict[str, Any]] = answer.json()["results"]
        for one, result in zip(some, results, strict=True):
            lines += [f"{one.name} {one.version}: {hole['id']}" for hole in result.get("vulns", ())]
    return lines


def main() -> int:
    found = dependencies()
    if "--holes" not in sys.argv[1:]:
        lines = wrong(found)
    else:
        try:
            lines = holes(found)
        except httpx.HTTPError as error:
            print(
                f"{OSV} cannot be reached ({error}): whether versions have known holes was not checked", file=sys.stderr
            )
            return UNREACHABLE
    print("\n".join([*lines, f"{len(found)} dependencies, {len(lines)} complaints"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

"""Whether a file matches what is in effect: if not, something overrides it, and changing it may do nothing."""

from __future__ import annotations

import re

from yaml.nodes import Node

from jitterscope.diagnosis.core.finding import WorkloadChange
from jitterscope.pulls.files import yaml_nodes as nodes
from jitterscope.pulls.files.steps import Path, in_words, operations

_UNITS = {
    "": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip
# Collectors round limits to whole MiB.
_SAME = 0.01


def differences(document: Node, change: WorkloadChange, prefix: Path = (), skip: int = 0) -> list[str]:
    """A sentence for each value that differs in the file. `prefix` replaces the first `skip` steps of paths."""
    found = []
    for one in operations(change.now):
        path = (*prefix, *one.path[skip:])
        written = nodes.text_at(document, *path)
        now, said = _quantity(str(one.value)), None if written is None else _quantity(written)
        if now is not None and said is not None and abs(said - now) > _SAME * now:
            found.append(
                f"The file sets {in_words(path)} to {written}, but {one.value} is in effect: the file is not rolled "
                "out yet, or something else overrides it."
            )
    return found


def _quantity(text: str) -> float | None:
    """Parse a Kubernetes quantity: "500m", "0.5", "512Mi"."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([a-zA-Z]*)", text.strip())
    return None if match is None or match[2] not in _UNITS else float(match[1]) * _UNITS[match[2]]

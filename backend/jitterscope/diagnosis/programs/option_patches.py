"""Patches that pass a runtime an option in the environment variable that it reads at startup."""

from __future__ import annotations

from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Patch
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import options

JAVA, NODE = "JAVA_TOOL_OPTIONS", "NODE_OPTIONS"
_RULES = {
    JAVA: "JAVA_TOOL_OPTIONS may hold other options: add to them. An option on the command line wins over it.",
    NODE: "NODE_OPTIONS may hold other options: add to them. An option on the command line wins over it.",
}


def setting(snapshot: Snapshot, variable: str, text: str) -> tuple[list[Patch], str, str]:
    """(patches, undo, caveat) that set `text`, one or more options."""
    texts, undo = patches.environment(snapshot, {variable: text})
    return texts, undo, _RULES[variable]


def replaces(process: ResourceView, *names: str) -> str | None:
    """What to replace if one of these options is already set; None if none is."""
    found = [option for option in options.of(process) if option.startswith(names)]
    return f"Replace {found[-1]} where it is set now." if found else None

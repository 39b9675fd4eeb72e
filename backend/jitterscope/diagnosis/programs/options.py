"""Options that a runtime's process was started with: command line and environment, later ones win."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from jitterscope.diagnosis.core.landing import Facts
from jitterscope.diagnosis.core.snapshot import ResourceView

FACT = "runtime.options"
_SIZES = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


@dataclass(frozen=True, slots=True)
class Threads:
    """How many threads collect garbage at once; None if unknown. `why` says what set it."""

    value: int | None
    why: str


def parse(text: str | None) -> tuple[str, ...]:
    """The options that govern CPU, threads, and memory; () if none is set or known."""
    try:
        found = json.loads(text or "[]")
    except json.JSONDecodeError:
        return ()
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def of(view: ResourceView) -> tuple[str, ...]:
    return parse(view.fact(FACT))


def in_facts(facts: Facts) -> tuple[str, ...]:
    return parse(facts.get(FACT))


def value(options: tuple[str, ...], *names: str) -> str | None:
    """The value of the last of these options: "4" of -XX:ActiveProcessorCount=4, "420m" of -Xmx420m."""
    found = None
    for option in options:
        for name in names:
            if option.startswith(name):
                found = option.removeprefix(name).removeprefix("=")
    return found


def size(text: str | None) -> int | None:
    """Bytes of "420m" or "1G"; None for anything else."""
    match = re.fullmatch(r"(\d+)([kKmMgGtT]?)[bB]?", text or "")
    return int(match[1]) << _SIZES[match[2].lower()] if match else None


def count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def show(text: str | None) -> str | None:
    """Options formatted for display; None if none is set."""
    return " ".join(parse(text)) or None

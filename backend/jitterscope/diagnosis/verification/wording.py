"""Sentences about a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from jitterscope.diagnosis.verification.measure import TITLES, Measure, Unit

_OPENING = {
    "verified": "The fix helped: ",
    "did_not_help": "The fix did not help: ",
    "made_worse": "It became worse: ",
}


def sentence(verdict: str, deciding: Sequence[Measure]) -> str:
    """ "The fix helped: slow queries went from 1.5 % to 0.01 % (p = 0.002), throttled time from … to …." """
    parts = []
    for one in deciding:
        title, unit = TITLES[one.metric]
        chance = "" if one.p_value is None else f" (p = {one.p_value:.2g})"
        parts.append(f"{title.lower()} went from {figure(one.before, unit)} to {figure(one.after, unit)}{chance}")
    return _OPENING[verdict] + ", ".join(parts) + "."


def figure(value: float | None, unit: Unit) -> str:
    """A value with its unit, in as many digits as tell something."""
    if value is None:
        return "unknown"
    match unit:
        case "ratio":
            return f"{amount(value * 100)} %"
        case "ms/min":
            return f"{amount(value)} ms/min"
        case "ms":
            return f"{amount(value)} ms"
        case "1/min":
            return f"{amount(value)}/min"


def amount(value: float) -> str:
    """Two or three significant digits: 4,200, 14.2, 0.31, 0.0052."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.3g}"
    return f"{value:.2g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def duration(seconds: float) -> str:
    """ "45 s", "12 min"."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"

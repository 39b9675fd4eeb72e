"""Sentences about a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from jitterscope.diagnosis.core.quantity import Unit
from jitterscope.diagnosis.verification.figures import Figure

_OPENING = {
    "verified": "The fix helped: ",
    "did_not_help": "The fix did not help: ",
    "made_worse": "It became worse: ",
}
_BINARY = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def sentence(verdict: str, deciding: Sequence[Figure], worse: Sequence[Figure] = ()) -> str:
    """ "The fix helped: slow queries went from 1.5 % to 0.01 % (p = 0.002), throttled time from … to …."

    `worse`: what became worse despite the verdict, stated after it.
    """
    said = _OPENING[verdict] + ", ".join(map(_went, _speaking(verdict, deciding))) + "."
    return f"{said} Meanwhile {', '.join(map(_went, worse))}." if worse else said


def _went(one: Figure) -> str:
    unit = one.measure.unit
    chance = "" if one.p_value is None else f" (p = {one.p_value:.2g})"
    title = lowered(one.measure.title)
    return f"{title} went from {figure(one.before, unit)} to {figure(one.after, unit)}{chance}"


def _speaking(verdict: str, deciding: Sequence[Figure]) -> list[Figure]:
    """The figures that support the verdict: one that still rose, as what is held does, does not show help."""
    sign = {"verified": -1, "made_worse": 1}.get(verdict)
    if sign is None:
        return list(deciding)
    kept = [
        one
        for one in deciding
        if one.before is not None
        and one.after is not None
        and (one.after - one.before) * sign * (1 if one.measure.better == "lower" else -1) > 0
    ]
    return kept or list(deciding)


def lowered(title: str) -> str:
    """A title inside a sentence; a title in capitals stays so."""
    return title if title[1:2].isupper() or title[1:2].isdigit() else title[:1].lower() + title[1:]


def figure(value: float | None, unit: Unit) -> str:
    """A value with its unit, in as many digits as are meaningful."""
    if value is None:
        return "unknown"
    match unit:
        case "ratio":
            return f"{amount(value * 100)} %"
        case "1/min" | "1/s" | "1/h":
            return f"{amount(value)}{unit[1:]}"
        case "bytes":
            size, name = next(((size, name) for size, name in _BINARY if abs(value) >= size), (1, "B"))
            return f"{amount(value / size)} {name}"
        case "us":
            return f"{amount(value)} µs" if abs(value) < 1000 else f"{amount(value / 1000)} ms"
        case "cpu":
            return f"{amount(value)} CPU"
        case "1":
            return amount(value)
        case "ms" | "ms/min":
            return f"{amount(value)} {unit}"


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

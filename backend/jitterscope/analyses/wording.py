"""Numbers formatted for display."""

from __future__ import annotations

from datetime import UTC, datetime


def duration(us: float) -> str:
    """ "11 µs", "2.27 ms", "1.01 s", "4 min 5 s"."""
    if us < 1000:
        return f"{us:.0f} µs"
    if us < 1e6:
        return f"{us / 1000:.3g} ms"
    if us < 120e6:
        return f"{us / 1e6:.3g} s"
    minutes, seconds = divmod(round(us / 1e6), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def size(amount: float) -> str:
    """ "417 MB", as disk and heap sizes are usually given (powers of 1000)."""
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def clock(us: int) -> str:
    """UTC, "08:02:36.571"; milliseconds only if there are any."""
    time = datetime.fromtimestamp(us / 1e6, UTC)
    return time.strftime("%H:%M:%S") + (f".{us // 1000 % 1000:03d}" if us % 1_000_000 else "")


def plural(count: float, one: str, many: str | None = None) -> str:
    """ "1 query", "3 queries", "12,500 lines"."""
    return f"{count:,.0f} {one if count == 1 else many or one + 's'}"


def share(part: float, whole: float) -> str:
    """ "12 of 30 (40 %)"."""
    return f"{part:,.0f} of {whole:,.0f}" + (f" ({100 * part / whole:.3g} %)" if whole else "")

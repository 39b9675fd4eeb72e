"""One metrics page: the relevant series, and queries on them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Labels = tuple[tuple[str, str], ...]
Key = tuple[str, Labels]

_KEPT = re.compile(r"(go|process|coredns|skydns|kubedns|dnsmasq|nodecache|container_processes|container_cpu_cfs)(_|$)")
_MOST_SAMPLES = 20_000


@dataclass(slots=True)
class Page:
    """`pid` and `at_us` as far as the lines around the page show them."""

    pid: int | None = None
    at_us: int | None = None
    samples: dict[Key, float] = field(default_factory=dict)
    lines: int = 0

    def keep(self, key: Key, value: float) -> None:
        """Keep one sample. Of very large pages, only known families are kept, and no more than 20,000 samples."""
        self.lines += 1
        if len(self.samples) < _MOST_SAMPLES and (_KEPT.match(key[0]) or len(self.samples) < 1000):
            self.samples[key] = value

    def total(self, *names: str) -> float | None:
        """A family summed over its labels: the first of these names on the page (old and new ones)."""
        for name in names:
            values = [value for (found, _), value in self.samples.items() if found == name]
            if values:
                return sum(values)
        return None

    def where(self, name: str, **labels: str) -> float | None:
        """The sum of a family's series with these labels."""
        wanted = set(labels.items())
        values = [value for (found, has), value in self.samples.items() if found == name and wanted <= set(has)]
        return sum(values) if values else None

    def by(self, label: str, *names: str) -> dict[str, float]:
        """A family summed by one label."""
        out: dict[str, float] = {}
        for (found, labels), value in self.samples.items():
            if found in names:
                key = dict(labels).get(label, "")
                out[key] = out.get(key, 0.0) + value
        return out

    def label(self, name: str, label: str) -> str | None:
        """A label's value of a family with one series (go_info)."""
        return next((dict(labels).get(label) for (found, labels) in self.samples if found == name), None)

    @property
    def gc_cycles(self) -> float | None:
        return self.total("go_gc_duration_seconds_count")


def same_process(before: Page, after: Page) -> bool:
    """Whether both pages can be from one process, the second one later."""
    if before.pid is not None and after.pid is not None and before.pid != after.pid:
        return False
    started = before.total("process_start_time_seconds"), after.total("process_start_time_seconds")
    if None not in started and started[0] != started[1]:
        return False
    counters = [
        (value, after.samples[key])
        for key, value in before.samples.items()
        if key in after.samples and key[0].endswith(("_total", "_count", "_sum"))
    ]
    return bool(counters) and all(late >= early for early, late in counters)


def seconds_between(before: Page, after: Page) -> float | None:
    """Time from one page to the next; None if unknown."""
    if before.at_us is not None and after.at_us is not None and after.at_us > before.at_us:
        return (after.at_us - before.at_us) / 1e6
    return None

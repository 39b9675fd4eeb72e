"""Memory of a cgroup on its way to a limit: unreclaimable memory, the lives between kills, growth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import fact_series, has, number, series
from jitterscope.diagnosis.core.snapshot import Event, FloatArray, IntArray, ResourceView, Snapshot

# The onset of a rise is where memory, after its lowest point, was last below this share of the whole rise.
ONSET = 0.05


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the cgroup whose limit is nearest: the subject, or an ancestor. One value per tick, bytes.

    `net` is usage without page cache: what cannot be reclaimed. `anon` and `file` are read once a second and
    interpolated for every tick in between; `known` is the last tick with any usage. `limit` is +inf if there is none.
    `kills` includes those of the subject: cgroup v1 counts a kill nowhere else. `told` are their events, in time order.
    """

    owner: ResourceView
    usage: FloatArray
    file: FloatArray
    anon: FloatArray
    net: FloatArray
    limit: FloatArray
    kills: FloatArray
    hits: FloatArray
    known: int
    starts: tuple[int, ...] = ()
    told: tuple[Event, ...] = ()

    @property
    def limit_bytes(self) -> float:
        return float(self.limit[-1])


@dataclass(frozen=True, slots=True)
class Life:
    """Ticks [start, end) between two starts.

    `killed`: it ended in an OOM kill, in tick `end`; `again`: not the first one.
    """

    start: int
    end: int
    killed: bool
    again: bool = False


@dataclass(frozen=True, slots=True)
class Growth:
    """A rise of `net` over the ticks [onset, end): `base` and `now` in bytes, rates in bytes/s.

    `rate` is that of its second half, which predicts what comes next; `rates` are the lowest and highest of several
    parts. `steadiness` is R² of a straight line through all of it.
    """

    onset: int
    end: int
    base: float
    now: float
    rate: float
    rates: tuple[float, float]
    steadiness: float
    step_us: int

    @property
    def seconds(self) -> float:
        return (self.end - self.onset) * self.step_us / 1e6

    @property
    def risen(self) -> float:
        return self.now - self.base

    def time_to(self, level: float) -> float:
        """Seconds from its end until `level` bytes at its rate; inf if it does not grow, 0 if it is already there."""
        if self.now >= level:
            return 0.0
        return (level - self.now) / self.rate if self.rate > 0 else float("inf")


KILL = "memory.oom_kill"
SERIES = ("memory_usage_bytes", "memory_file_bytes", "memory_anon_bytes", "memory_oom_kills", "memory_limit_hits")
# Two reports of the same kill are less than this apart.
_SAME_KILL_US = 2_000_000


@reading
def read(snapshot: Snapshot) -> Memory | None:
    """The memory; None if no cgroup of the subject recorded it."""
    views = [view for view in (snapshot.subject, *snapshot.ancestors) if has(view, "memory_usage_bytes")]
    if not views:
        return None
    return _read(snapshot, min(views, key=lambda view: _headroom(snapshot, view)))


def _headroom(snapshot: Snapshot, view: ResourceView) -> float:
    limit = number(view.fact("memory.limit_bytes"))
    if limit is None or limit <= 0:
        return float("inf")
    return limit - float(np.nanmax(series(view, "memory_usage_bytes", snapshot.ticks)))


def _read(snapshot: Snapshot, view: ResourceView) -> Memory:
    n = snapshot.ticks
    usage, kills = series(view, "memory_usage_bytes", n), killed(snapshot, view)
    limit = fact_series(snapshot, view, "memory.limit_bytes", -1.0)
    known = int(np.flatnonzero(np.isfinite(usage))[-1])
    whole = filled(usage)
    # Before and after a kill are two programs: do not interpolate between them.
    ends = {int(tick) + 1 for tick in np.flatnonzero(np.nan_to_num(kills) > 0)} | set(snapshot.subject.starts)
    cuts = [0, *sorted(ends - {0, n}), n]
    file, anon = (_pieces(series(view, name, n), cuts) for name in ("memory_file_bytes", "memory_anon_bytes"))
    file = np.minimum(file, whole)
    return Memory(
        owner=view,
        usage=whole,
        file=file,
        anon=anon,
        net=np.maximum(whole - np.nan_to_num(file), 0.0),
        limit=np.where(limit > 0, limit, np.inf),
        kills=np.nan_to_num(kills),
        hits=np.nan_to_num(series(view, "memory_limit_hits", n)),
        known=known,
        starts=snapshot.subject.starts,
        told=tuple(_told(snapshot, view)),
    )


def killed(snapshot: Snapshot, owner: ResourceView) -> FloatArray:
    """OOM kills per tick, of the owner of the memory and of the subject below it; NaN where not counted.

    A container's cgroup can vanish with its kill before the counter was read: then the kernel's log or the kubelet
    reports it.
    """
    n, near = snapshot.ticks, _SAME_KILL_US // snapshot.step_us
    kills = series(owner, "memory_oom_kills", n).copy()
    own = series(snapshot.subject, "memory_oom_kills", n)
    others = [(int(tick), float(own[tick])) for tick in np.flatnonzero(own > 0)]
    told = [event for event in _told(snapshot, owner) if "uncounted_by" in event.attributes]
    others += [(int((event.start_us - snapshot.start_us) // snapshot.step_us), 1.0) for event in told]
    for tick, count in others:
        if 0 <= tick < n and not (kills[max(0, tick - near) : tick + near + 1] > 0).any():
            kills[tick] = count
    return kills


def _told(snapshot: Snapshot, owner: ResourceView) -> list[Event]:
    views = (owner,) if owner.id == snapshot.subject.id else (owner, snapshot.subject)
    found = [event for view in views for event in view.events if event.kind == KILL]
    return sorted(found, key=lambda event: event.start_us)


def filled(values: FloatArray) -> FloatArray:
    """Missing ticks interpolated linearly between their neighbors, the nearest value at the ends; NaN without any."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return values
    return np.interp(np.arange(len(values)), known, values[known])


def _pieces(values: FloatArray, cuts: list[int]) -> FloatArray:
    return np.concatenate([between(values[low:high]) for low, high in pairwise(cuts)])


def between(values: FloatArray) -> FloatArray:
    """An occasionally sampled gauge, on every tick; after its last sample it continues its trend.

    So page cache that fills between two samples does not look like unreclaimable memory.
    """
    known = np.flatnonzero(np.isfinite(values))
    out = filled(values)
    if len(known) >= 2:
        last, before = int(known[-1]), int(known[-2])
        slope = max(0.0, float(values[last] - values[before]) / (last - before))
        tail = np.arange(1, len(values) - last)
        out[last + 1 :] = values[last] + slope * tail
    return out


def lives(memory: Memory) -> list[Life]:
    """The lives in time order.

    A kill is seen in the tick in which the counter moved; usage may have fallen a tick earlier, or anywhere since its
    last sample. If a cgroup vanished with its kill, the kill was not counted, but a container started anew.
    """
    read_at = np.flatnonzero(np.isfinite(memory.owner.series["memory_usage_bytes"]))
    ends = {*np.flatnonzero(memory.kills > 0).tolist(), *memory.starts}
    found, start = [], 0
    for tick in sorted(ends):
        if tick < start:  # the cgroup of its next start existed before its process
            continue
        end = _before_fall(memory.net, read_at, start, tick)
        if end - start >= 2 and ((read_at >= start) & (read_at < end)).any():
            found.append(Life(start, end, killed=bool(memory.kills[tick] > 0), again=start > 0))
        start = _up_again(memory.net, tick + 1)
    if memory.known + 1 - start >= 2:
        found.append(Life(start, memory.known + 1, killed=False, again=start > 0))
    return found


def _up_again(net: FloatArray, start: int) -> int:
    """The first tick from `start` on with a process in the cgroup: no server needs less than 1 MiB."""
    up = np.flatnonzero(net[start:] >= 1 << 20)
    return start + int(up[0]) if len(up) else len(net)


def _before_fall(net: FloatArray, read_at: IntArray, start: int, tick: int) -> int:
    """End of the life: after its highest tick of the last three, since the memory of a killed process is freed quickly.

    A collector short of CPU reads it once a second: values interpolated from the last sample to zero were not used.
    """
    earlier = read_at[read_at < tick]
    low = max(start, min(tick - 2, int(earlier[-1]) if len(earlier) else tick))
    return low + int(np.argmax(net[low : tick + 1])) + 1


def growth(net: FloatArray, life: Life, step_us: int) -> Growth | None:
    """The rise that leads to the end of a life; None if there is none."""
    values = smooth(net[life.start : life.end])
    if len(values) < 2:
        return None
    lowest, now = float(values.min()), float(values[-1])
    rise = now - lowest
    if rise <= 0:
        return None
    onset = int(np.flatnonzero(values <= lowest + ONSET * rise)[-1])
    return measured(net, life.start + onset, life.end, step_us)


def measured(net: FloatArray, onset: int, end: int, step_us: int) -> Growth | None:
    """Growth over the ticks [onset, end); None for fewer than two."""
    part = net[onset:end]
    if len(part) < 2:
        return None
    length = len(part)
    parts = [part[-max(2, length // share) :] for share in (2, 1, 3)]
    rates = [slope(one) * 1e6 / step_us for one in parts]
    return Growth(
        onset=onset,
        end=end,
        base=float(part[0]),
        now=float(part[-1]),
        rate=rates[0],
        rates=(min(rates), max(rates)),
        steadiness=_r2(part),
        step_us=step_us,
    )


def smooth(values: FloatArray) -> FloatArray:
    """Median of three ticks; the ends stay."""
    if len(values) < 3:
        return values
    out = values.copy()
    out[1:-1] = np.median(np.stack([values[:-2], values[1:-1], values[2:]]), axis=0)
    return out


def slope(values: FloatArray) -> float:
    """Slope of a least-squares line, per tick, without NaN ticks; 0 with fewer than two."""
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 2:
        return 0.0
    x = known - known.mean()
    y = values[known] - values[known].mean()
    return float((x * y).sum() / (x * x).sum())


def _r2(values: FloatArray) -> float:
    total = float(((values - values.mean()) ** 2).sum())
    if total <= 0:
        return 0.0
    x = np.arange(len(values), dtype=np.float64)
    line = values.mean() + slope(values) * (x - x.mean())
    return 1.0 - float(((values - line) ** 2).sum()) / total


def kill_events(memory: Memory) -> tuple[Event, ...]:
    """The reports of its kills, in time order."""
    return memory.told

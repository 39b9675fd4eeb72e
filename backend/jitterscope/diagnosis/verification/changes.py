"""What was changed: two states of a workload as facts tell them, and which fix that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from jitterscope.diagnosis import golang
from jitterscope.diagnosis.signals import number


@dataclass(frozen=True, slots=True)
class Step:
    """One setting, old and new as people write them. None: not set, or not known."""

    name: str
    title: str
    old: str | None
    new: str | None


Facts = Mapping[str, str]
_ENVIRONMENT = {
    "gomaxprocs": "GOMAXPROCS",
    "gogc": "GOGC",
    "gomemlimit": "GOMEMLIMIT",
    "godebug": "GODEBUG",
}
# (name, title, fact): compared as text.
_TEXTS = (
    ("go_version", "Go version", "go.version"),
    ("program", "Program", "go.main_module"),
    ("dns_version", "DNS server version", "dns.version"),
    ("udp_sockets", "UDP sockets", "dns.udp_sockets"),
    ("image", "Image", "workload.image"),
)
_LINE_CHARACTERS = 200


def steps(old: Facts, new: Facts, restarted: bool) -> list[Step]:
    """Settings that differ between two states of a workload: its cgroup's, process's and DNS server's newest facts."""
    found = [
        _step("cpu_limit", "CPU limit", _limit(old), _limit(new)),
        _step("period_us", "CFS period", _ms(old, "cpu.period_us"), _ms(new, "cpu.period_us")),
        _step("burst_us", "CFS burst", _ms(old, "cpu.burst_us"), _ms(new, "cpu.burst_us")),
        _step("memory_limit", "Memory limit", _mebibytes(old), _mebibytes(new)),
        *(_step(n, t, old.get(f"go.env.{t}"), new.get(f"go.env.{t}")) for n, t in _ENVIRONMENT.items()),
        *(_step(name, title, old.get(fact), new.get(fact)) for name, title, fact in _TEXTS),
        _corefile(old.get("dns.corefile"), new.get("dns.corefile")),
    ]
    result = [step for step in found if step is not None]
    return [*result, Step("restart", "Restart", None, None)] if restarted else result


def _step(name: str, title: str, old: str | None, new: str | None) -> Step | None:
    return None if old == new else Step(name, title, old, new)


def _limit(facts: Facts) -> str | None:
    quota, period = number(facts.get("cpu.quota_us")), number(facts.get("cpu.period_us")) or 100_000.0
    return None if quota is None or quota <= 0 else f"{quota / period:g}"


def _ms(facts: Facts, name: str) -> str | None:
    value = number(facts.get(name))
    return None if value is None else f"{value / 1000:g} ms"


def _mebibytes(facts: Facts) -> str | None:
    value = number(facts.get("memory.limit_bytes"))
    return None if value is None or value < 0 else f"{value / (1 << 20):,.0f} MiB"


def _corefile(old: str | None, new: str | None) -> Step | None:
    """Lines that went and lines that came: a whole Corefile tells nobody what changed."""
    if old == new or old is None or new is None:
        return None
    before, after = ([line.strip() for line in text.splitlines() if line.strip()] for text in (old, new))
    gone = "; ".join(line for line in before if line not in after)[:_LINE_CHARACTERS]
    came = "; ".join(line for line in after if line not in before)[:_LINE_CHARACTERS]
    return Step("corefile", "Corefile", gone or "(other order)", came or "(lines removed)")


def _raised(step: Step) -> bool:
    old, new = (_value(text) for text in (step.old, step.new))
    return new is None or (old is not None and new > old)


def _more(step: Step) -> bool:
    old, new = (_value(text) for text in (step.old, step.new))
    return new is not None and new > (old or 0.0)


def _more_memory(step: Step) -> bool:
    old, new = golang.memory_bytes(step.old), golang.memory_bytes(step.new)
    return new is not None and (old is None or new > old)


def _value(text: str | None) -> float | None:
    return None if text is None else number(text.removesuffix(" ms"))


Condition = Callable[[Step], bool]
# Fix id → the steps that it consists of; several alternatives where a fix can be done in more than one way.
_FIXES: dict[str, tuple[dict[str, Condition], ...]] = {
    "raise_cpu_limit": ({"cpu_limit": _raised},),
    "cfs_burst": ({"burst_us": _more},),
    "gomaxprocs": ({"gomaxprocs": lambda _: True},),
    "gogc_off_gomemlimit": (
        {"gogc": lambda step: step.new == "off", "gomemlimit": lambda step: step.new is not None},
        {"gogc": lambda step: step.new == "off"},
    ),
    "raise_gomemlimit": ({"gomemlimit": _more_memory},),
    "unset_gomemlimit": (
        {"gomemlimit": lambda step: step.new in (None, "off")},
        {"gomemlimit": lambda step: step.new in (None, "off"), "gogc": lambda step: step.new != "off"},
    ),
    "multisocket": ({"udp_sockets": _more}, {"corefile": lambda step: "multisocket" in (step.new or "")},
                    {"udp_sockets": _more, "corefile": lambda step: "multisocket" in (step.new or "")}),
}  # fmt: skip


def matching_fix(found: Iterable[Step], fix_ids: Iterable[str]) -> str | None:
    """The fix among `fix_ids` that these steps are, all of them and no more; None for any other change.

    A restart belongs to every change of the environment, and a higher memory limit may go with any.
    """
    by_name = {step.name: step for step in found if step.name not in ("restart", "memory_limit")}
    for fix_id in fix_ids:
        for parts in _FIXES.get(fix_id, ()):
            if parts.keys() == by_name.keys() and all(holds(by_name[name]) for name, holds in parts.items()):
                return fix_id
    return None

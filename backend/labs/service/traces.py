"""What the garbage collectors of a JVM and of Node print, and what the service in Ruby prints about its own."""

from __future__ import annotations

import re

from labs.gctrace import GcCycle

# -Xlog:gc (JEP 158): "[4.278s][info][gc] GC(2) Pause Full (Ergonomics) 150M->119M(192M) 155.849ms".
_JVM = re.compile(r"GC\(\d+\) Pause .* \d+M->(?P<live>\d+)M\(\d+M\) (?P<ms>[\d.]+)ms")
# --trace-gc: "[2666:0x2553af90] 5074 ms: Mark-Compact 103.1 (137.0) -> 87.6 (126.3) MB, 122.25 / 0.00 ms …".
_NODE = re.compile(r"ms: (?:Scavenge|Mark-Compact|Mark-sweep).* -> (?P<live>\d+)\.\d+ \([\d.]+\) MB, (?P<ms>[\d.]+) /")

# service.rb: "GC 12.345 ms, 87 MB".
_RUBY = re.compile(r"^GC (?P<ms>[\d.]+) ms, (?P<live>\d+) MB")


def jvm_pause(line: str, printed_us: int) -> GcCycle | None:
    """The pause in a line read at `printed_us` (it is printed when the pause ends); None for other lines."""
    return _cycle(_JVM.search(line), printed_us)


def node_collection(line: str, printed_us: int) -> GcCycle | None:
    """The same for a GC cycle of V8."""
    return _cycle(_NODE.search(line), printed_us)


def ruby_collection(line: str, printed_us: int) -> GcCycle | None:
    """The same for a GC cycle of Ruby, which began before the line was printed."""
    return _cycle(_RUBY.search(line), printed_us)


def _cycle(match: re.Match[str] | None, printed_us: int) -> GcCycle | None:
    if match is None:
        return None
    return GcCycle(printed_us - round(float(match["ms"]) * 1000), printed_us, None, int(match["live"]) << 20)

"""Programs that do their work in one thread: Node.js, Python, Redis and Valkey."""

from __future__ import annotations

from dataclasses import dataclass

from jitterscope.diagnosis.core.signals import runs
from jitterscope.diagnosis.core.snapshot import ResourceView


@dataclass(frozen=True, slots=True)
class EventLoop:
    """The display name of the program, and the thread that does all its work.

    Sources: nodejs.org/en/learn/asynchronous-work/dont-block-the-event-loop; docs.python.org/3/c-api/init.html (the
    global interpreter lock); redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency.
    """

    program: str
    thread: str
    # What keeps the thread busy: a command or a function.
    task: str


NODE = EventLoop("Node.js", "event loop", "function")
PYTHON = EventLoop("Python", "interpreter", "function")
REDIS = EventLoop("Redis", "command thread", "command")
VALKEY = EventLoop("Valkey", "command thread", "command")
_BY_RUNTIME = {"nodejs": NODE, "python": PYTHON}
_BY_NAME = {
    "node": NODE, "nodejs": NODE, "python": PYTHON, "gunicorn": PYTHON, "uvicorn": PYTHON, "redis-server": REDIS,
    "valkey-server": VALKEY,
}  # fmt: skip


def event_loop(process: ResourceView) -> EventLoop | None:
    """The event loop of a process; None: not known to do its work in one thread."""
    known = _BY_RUNTIME.get(process.fact("runtime.name") or "")
    return known or next((loop for name, loop in _BY_NAME.items() if runs(process, name)), None)

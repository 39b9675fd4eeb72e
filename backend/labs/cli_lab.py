"""`jitterscope lab …`: every module of labs/commands is a lab."""

from __future__ import annotations

import pkgutil
import signal
import sys
from types import ModuleType

import typer

from jitterscope.kit.late_commands import imported_when_called
from labs import commands


def _app(lab: ModuleType) -> typer.Typer:
    app = typer.Typer()
    app.command(lab.NAME)(lab.command)
    return app


LABS = [f"{commands.__name__}.{one.name}" for one in pkgutil.iter_modules(commands.__path__)]
app = typer.Typer(
    name="lab",
    help="Make a real fault on this machine and see what the product says.",
    cls=imported_when_called(LABS, _app),
)


@app.callback()
def labs() -> None:
    """Make a real fault on this machine and see what the product says."""
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: object) -> None:
    """Exit through the cleanup of everything that was started."""
    sys.exit(128 + number)

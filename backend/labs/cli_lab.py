"""`jitterscope lab …`: every module of labs/commands is a lab."""

from __future__ import annotations

import importlib
import pkgutil
import signal
import sys

import typer

from labs import commands

app = typer.Typer(name="lab", help="Make a real fault on this machine and see what the product says.")


@app.callback()
def labs() -> None:
    """Make a real fault on this machine and see what the product says."""
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: object) -> None:
    """Exit through the cleanup of everything that was started."""
    sys.exit(128 + number)


for found in pkgutil.iter_modules(commands.__path__):
    lab = importlib.import_module(f"{commands.__name__}.{found.name}")
    app.command(lab.NAME)(lab.command)

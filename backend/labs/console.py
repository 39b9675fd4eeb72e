"""How labs report: progress on stderr with the time since the start, and one line when they give up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NoReturn

import typer

Say = Callable[[str], None]


def progress() -> Say:
    """A function that prints a line of progress."""
    started = time.monotonic()

    def say(text: str) -> None:
        typer.echo(f"[{time.monotonic() - started:5.1f} s] {text}", err=True)

    return say


def fail(message: str) -> NoReturn:
    """Print the reason and exit with code 1."""
    typer.echo(message, err=True)
    raise typer.Exit(1)

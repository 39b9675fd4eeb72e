"""`jitterscope up`, `down` and `status`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from jitterscope.deployment.cli import first_login
from jitterscope.devstack.flavours import FlavourUnavailable
from jitterscope.devstack.postgres import StartFailed
from jitterscope.devstack.stack import COLLECTOR, Stack
from jitterscope.settings import REPOSITORY

app = typer.Typer()

StateDir = Annotated[Path, typer.Option(envvar="JITTERSCOPE_STATE_DIR", help="Folder for data, secrets and logs")]
DEFAULT_STATE_DIR = REPOSITORY / ".run"
# Settings of the caller that are passed to the service; it determines everything else by itself.
PASSED_ON = (
    "JITTERSCOPE_NOTIFY_ALLOW_PRIVATE_TARGETS", "JITTERSCOPE_INCIDENT_QUIET_S", "JITTERSCOPE_DIAGNOSIS_WINDOW_S",
    "JITTERSCOPE_LOG_LEVEL",
)  # fmt: skip


@app.command()
def up(
    state_dir: StateDir = DEFAULT_STATE_DIR,
    port: Annotated[int, typer.Option(envvar="JITTERSCOPE_PORT", help="Port of API and UI; 0: any free port")] = 0,
    collector: Annotated[bool, typer.Option(help="Run the collector on this machine")] = True,
    database: Annotated[str, typer.Option(help="embedded or timescaledb")] = "embedded",
) -> None:
    """Start everything on this machine: PostgreSQL, Valkey, API, worker, UI, collector."""
    started = time.monotonic()

    def say(text: str) -> None:
        typer.echo(f"[{time.monotonic() - started:5.1f} s] {text}", err=True)

    if collector and not COLLECTOR.exists():
        typer.echo(f"The collector is not built ({COLLECTOR}). Run `make build`, or use --no-collector.", err=True)
        raise typer.Exit(1)
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    stack = Stack(state_dir, port=port, collector=collector, database=database, say=say, environment=passed)
    try:
        stack.start()
    except (StartFailed, FlavourUnavailable, RuntimeError, OSError) as error:
        typer.echo(f"{error}\nLogs: {stack.state.logs}", err=True)
        raise typer.Exit(1) from error
    say("Ready")
    if collector and os.geteuid() != 0:
        typer.echo(
            "Without root the collector sees only what your user can see. Run as root for packets and GC probes.",
            err=True,
        )
    typer.echo(f"{first_login(stack.url, *stack.admin)}\nLogs: {stack.state.logs}")


@app.command()
def down(state_dir: StateDir = DEFAULT_STATE_DIR) -> None:
    """Stop everything that `up` started. The data stay in the state folder."""
    stack = Stack(state_dir, collector=False, database="embedded")
    if stack.supervisor.pid is None:
        typer.echo("Nothing is running.", err=True)
        return
    stack.stop()
    typer.echo("Stopped.", err=True)


@app.command()
def status(state_dir: StateDir = DEFAULT_STATE_DIR) -> None:
    """Show what is running. Exit status 3 if nothing is."""
    stack = Stack(state_dir, collector=False, database="embedded")
    if stack.supervisor.pid is None:
        typer.echo("Nothing is running.")
        sys.exit(3)
    for name, entry in stack.supervisor.programs().items():
        typer.echo(f"{name:10} {entry['statename']:10} {entry['description']}")
    if stack.state.urls.exists():
        typer.echo(stack.state.urls.read_text())

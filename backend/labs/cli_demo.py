"""`jitterscope demo`."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from jitterscope.devstack.flavours import FlavourUnavailable
from jitterscope.devstack.postgres import StartFailed
from jitterscope.devstack.stack import Stack
from jitterscope.settings import REPOSITORY
from labs import demo as demos
from labs import demo_fault
from labs.console import fail, progress
from labs.errors import LabError
from labs.product import Product

app = typer.Typer()


@app.command()
def demo(
    state_dir: Annotated[
        Path, typer.Option(envvar="JITTERSCOPE_STATE_DIR", help="Where `jitterscope up` keeps its state.")
    ] = REPOSITORY / ".run",
    seconds: Annotated[
        float, typer.Option(min=30, max=3_600, help="Length of the fault in seconds; Ctrl-C ends it too")
    ] = 600,
    replay: Annotated[bool, typer.Option(help="Replay a recording even if a real fault is possible")] = False,
) -> None:
    """Start everything, make a real CoreDNS stall, show the incident, and keep the fault going while you try a fix.

    Without root, replay a recording of a stall. The product keeps running afterwards: `make down` stops it.
    """
    say = progress()
    stack = Stack(state_dir, say=say)
    for number in _ENDING:
        signal.signal(number, _interrupt)
    try:
        stack.start()
    except (StartFailed, FlavourUnavailable, RuntimeError, OSError) as error:
        fail(f"{error}\nLogs: {stack.state.logs}")
    try:
        email, password = stack.admin
        sign_in = f"Sign in as {email}  {password}"
        with Product.signed_in(stack.url, email, password) as product:
            obstacle = "requested by --replay" if replay else demos.why_no_lab()
            if obstacle is None:
                demo_fault.run(product, seconds, sign_in, say)
                say("The fault has ended")
            else:
                say(f"This is a recording of a real stall, not one on this machine: {obstacle}.")
                token = stack.state.collector_token.read_text().strip()
                print(f"\n{demos.recorded(product, token, say)}\n\n{sign_in}")
    except KeyboardInterrupt:
        say("Ended: the fault is over")
    except (LabError, OSError) as error:
        fail(f"{error}\nLogs: {stack.state.logs}")
    say("Jitterscope keeps running; `make down` stops it")


_ENDING = (signal.SIGINT, signal.SIGTERM)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Interrupt once: Ctrl-C may arrive twice, from the terminal and `uv run`, and must not interrupt the cleanup."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt

"""`jitterscope demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jitterscope.devstack.flavours import FlavourUnavailable
from jitterscope.devstack.postgres import StartFailed
from jitterscope.devstack.stack import Stack
from jitterscope.labs import demo as demos
from jitterscope.labs.console import fail, progress
from jitterscope.labs.errors import LabError
from jitterscope.labs.product import Product
from jitterscope.settings import REPOSITORY

app = typer.Typer()


@app.command()
def demo(
    state_dir: Annotated[
        Path, typer.Option(envvar="JITTERSCOPE_STATE_DIR", help="Where `jitterscope up` keeps its state.")
    ] = REPOSITORY / ".run",
    seconds: Annotated[float, typer.Option(help="How long the fault lasts")] = 45,
    replay: Annotated[bool, typer.Option(help="Replay a recording even where a real fault can be made")] = False,
) -> None:
    """Start everything, make a real CoreDNS stall, and show the incident. Without root, replay a recording of it."""
    say = progress()
    stack = Stack(state_dir, say=say)
    try:
        stack.start()
        with Product.signed_in(stack.url, *stack.admin) as product:
            obstacle = "you asked for it" if replay else demos.why_no_lab()
            if obstacle is None:
                said = demos.lab(product, seconds, say)
            else:
                say(f"This is a recording of a real stall, not one on this machine: {obstacle}.")
                said = demos.recorded(product, stack.state.collector_token.read_text().strip(), say)
    except (LabError, StartFailed, FlavourUnavailable, RuntimeError, OSError) as error:
        fail(f"{error}\nLogs: {stack.state.logs}")
    email, password = stack.admin
    print(f"\n{said}\n\nSign in as {email}  {password}")

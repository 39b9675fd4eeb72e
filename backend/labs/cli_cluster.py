"""`jitterscope cluster …`: the Kubernetes that labs and tests use."""

from __future__ import annotations

import typer

from labs.console import fail, progress
from labs.errors import LabError
from labs.kubernetes import cluster as clusters

app = typer.Typer(name="cluster", help="A real one-node Kubernetes on this machine.")


@app.command()
def up() -> None:
    """Start the cluster; it runs until `jitterscope cluster down`."""
    say = progress()
    try:
        made = clusters.found() or clusters.up(say)
    except LabError as error:
        fail(str(error))
    say("The node is ready")
    print(f"export KUBECONFIG={made.files.admin} PATH={made.programs.folder}:$PATH")


@app.command()
def down() -> None:
    """End the cluster and remove everything of it but the built programs."""
    try:
        clusters.remove(progress())
    except LabError as error:
        fail(str(error))

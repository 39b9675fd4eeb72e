"""`jitterscope cluster …`: the Kubernetes cluster that labs and tests use."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.console import fail, progress
from labs.errors import LabError
from labs.kubernetes import cluster as clusters
from labs.kubernetes.layout import MOST_NODES

app = typer.Typer(name="cluster", help="A real Kubernetes on this machine, with one or more nodes.")


@app.command()
def up(
    nodes: Annotated[
        int, typer.Option(min=1, max=MOST_NODES, help="Number of nodes; each has its own kubelet, all share the kernel")
    ] = 2,
) -> None:
    """Start the cluster; it runs until `jitterscope cluster down`."""
    say = progress()
    try:
        made = clusters.found() or clusters.up(say, nodes=nodes)
    except LabError as error:
        fail(str(error))
    ready = ", ".join(node.name for node in made.nodes)
    say(f"Ready: {ready}")
    if len(made.nodes) != nodes:
        fail(f"The running cluster does not have the {nodes} nodes requested. `jitterscope cluster down` ends it.")
    print(f"export KUBECONFIG={made.files.admin} PATH={made.programs.folder}:$PATH")


@app.command()
def down() -> None:
    """End the cluster and remove everything except the built programs."""
    try:
        clusters.remove(progress())
    except LabError as error:
        fail(str(error))

"""`jitterscope lab bpf-startup`: pods that wait for the eBPF verifier when they start."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from labs.applying.podstart import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.podstart.variants import Variant, parameters_of
from labs.podstart.watched import kubelet, watch

NAME = "bpf-startup"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    pods: Annotated[int | None, typer.Option(help="Pods to start, one after the other [6]")] = None,
    sections: Annotated[int | None, typer.Option(help="Programs in the agent's object file [8]")] = None,
    unused: Annotated[
        int | None, typer.Option(help="Programs to leave out, which nothing calls [0; pruned 5 of 8]")
    ] = None,
    verified: Annotated[
        int | None, typer.Option(help="Instructions the verifier walks through per program [450000; look-alikes 10000]")
    ] = None,
    branches: Annotated[int | None, typer.Option(help="Branches in a row the verifier must tell apart [8]")] = None,
    wait_s: Annotated[
        float | None,
        typer.Option(
            help="Scheduler, API server, volumes [so that the fault takes 6.2 s; slow-image 1.5; slow-start 6.2]"
        ),
    ] = None,
    image_mib: Annotated[float | None, typer.Option(help="Size of the image [16]")] = None,
    image_s: Annotated[float | None, typer.Option(help="Pull time of the image in seconds [0.5; slow-image 8]")] = None,
    gap_s: Annotated[float | None, typer.Option(help="Pause between pods in seconds [1]")] = None,
    kubelet_port: Annotated[
        int, typer.Option(help="Where the lab's kubelet serves its metrics, for --url [any free port]")
    ] = 0,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """Pods whose agent loads eBPF programs that take long to verify, on a node of the lab's own (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_", "kubelet_port"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            with kubelet(kubelet_port) as served:
                fault = partial(ongoing, served, variant, parameters, say=say)
                try_fix(fault, apply, url, token, say, json_, served.collector_config)
            return
        with kubelet(kubelet_port) as served, host(url, token, say, served.collector_config) as product:
            report = watch(product, served, variant, parameters, record_to, say)
        show(report, "the first pod", json_)
        if report.load_error_ratio is not None:
            off = f"{100 * report.load_error_ratio:.2f} %"
            typer.echo(f"what a pod's loads took differs from the loader's clock by {off} at most", err=True)

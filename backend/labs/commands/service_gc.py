"""`jitterscope lab service-gc`: an HTTP or gRPC service whose garbage collector uses up its CPU quota."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.service import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.service.variants import Runtime, Variant, parameters_of
from labs.service.watched import watch

NAME = "service-gc"


def command(
    variant: Annotated[Variant, typer.Option(help="The runtime of the fault, or a look-alike")] = Variant.GO,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [60]")] = None,
    settle_s: Annotated[
        float | None, typer.Option(help="Load before the window in s [10; start-up 1: until the service is found]")
    ] = None,
    runtime: Annotated[Runtime | None, typer.Option(help="Runtime of the service [set by the variant]")] = None,
    quota_us: Annotated[int | None, typer.Option(help="CPU time per period (µs) [50000]; -1: no limit")] = None,
    period_us: Annotated[int | None, typer.Option(help="Length of a CFS period (µs) [100000]")] = None,
    burst_us: Annotated[int | None, typer.Option(help="CFS burst (µs) [0], at most the quota")] = None,
    qps: Annotated[float | None, typer.Option(help="Requests per second [300; jvm, node, and ruby 200]")] = None,
    objects: Annotated[
        int | None, typer.Option(help="Live objects of about 128 bytes [800000; jvm and ruby 900000; node 500000]")
    ] = None,
    replaced: Annotated[
        int | None, typer.Option(help="Objects each request replaces [0; jvm 400; node 200; ruby 1000]")
    ] = None,
    answer_bytes: Annotated[int | None, typer.Option(help="Size of an answer [30000]")] = None,
    hashed_kib: Annotated[int | None, typer.Option(help="KiB each request hashes [0; go 300]")] = None,
    slow_every: Annotated[
        int | None, typer.Option(help="One in this many requests waits in the service's own code [0; own-code 50]")
    ] = None,
    slow_ms: Annotated[int | None, typer.Option(help="How long it waits in ms [0; own-code 60]")] = None,
    grpc: Annotated[
        int | None, typer.Option(help="Go: serve gRPC to this many connections of clients [0: HTTP/1.1; grpc 4]")
    ] = None,
    gomaxprocs: Annotated[int | None, typer.Option(help="Go: GOMAXPROCS [4]")] = None,
    gogc: Annotated[str | None, typer.Option(help="Go: GOGC, a percentage [100] or off")] = None,
    gomemlimit: Annotated[str | None, typer.Option(help="Go: GOMEMLIMIT, such as 1GiB [unset]")] = None,
    collector: Annotated[str | None, typer.Option(help="JVM: Parallel, G1 or Serial [Parallel; jvm-g1 G1]")] = None,
    cpus: Annotated[int | None, typer.Option(help="JVM: -XX:ActiveProcessorCount [4]")] = None,
    heap_mib: Annotated[int | None, typer.Option(help="JVM, Node: heap limit in MiB [420]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A service in Go, Java, Node, or Ruby whose garbage collector uses up its CPU quota (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first throttled request", json_)

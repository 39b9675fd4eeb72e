"""`jitterscope lab negative-dentries`: names that do not exist fill the kernel's dentry cache."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.dentries import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.dentries.variants import Variant, parameters_of
from labs.dentries.watched import watch

NAME = "negative-dentries"


def command(
    variant: Annotated[
        Variant,
        typer.Option(
            help="nss: the real library; storm: an old one's leak; drop, unmount: and its end; files: look-alike"
        ),
    ] = Variant.STORM,
    seconds: Annotated[float | None, typer.Option(help="Longest time to start programs, in seconds [20]")] = None,
    starts_per_s: Annotated[float | None, typer.Option(help="Starts per second [2; drop, unmount 10]")] = None,
    lookups: Annotated[int | None, typer.Option(help="Names each program looks up, except nss [10000]")] = None,
    dentries: Annotated[
        int | None,
        typer.Option(help="Negative dentries at which to stop [400000; drop, unmount 1000000; files 200000]"),
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="Pattern of the names: nss [storm] or session [drop, unmount]")
    ] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Idle time before, in seconds [10]")] = None,
    settle_seconds: Annotated[float | None, typer.Option(help="Idle time after, in seconds [15]")] = None,
    use_cache: Annotated[str | None, typer.Option(help="nss: NSS_SDB_USE_CACHE [auto]; empty: not set")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """Programs that look up names that do not exist, and the cost of freeing them (docs/labs.md)

    `drop` makes the kernel free all unused dentries and inodes of this machine.
    """
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first start", json_)
        if report.named_s is not None:
            typer.echo(
                f"from the first start until an incident named program and names: {report.named_s:.1f} s", err=True
            )
        if report.pause is not None:
            told = f"{report.pause.predicted_s:.2f} s ({report.pause.low_s:.2f} to {report.pause.high_s:.2f})"
            typer.echo(f"pause predicted: {told}, was {report.pause.real_s:.2f} s", err=True)

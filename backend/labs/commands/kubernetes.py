"""`jitterscope lab kubernetes`: a case on a real cluster, from the fault to the verdict on its fix."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from labs.applying import attempt
from labs.commanding import Json, complaints
from labs.console import Say, progress
from labs.kubernetes import capabilities as capabilities_
from labs.kubernetes import case as cases
from labs.kubernetes import churn as churns
from labs.kubernetes import churn_report

NAME = "kubernetes"


def _parameters() -> str:
    """For each case its parameters with their default values."""
    told = []
    for one in cases.CASES.values():
        fields = one.parameters.model_fields
        told.append(f"{one.name}: " + ", ".join(f"{name}={field.default:g}" for name, field in fields.items()))
    return "; ".join(told)


def command(
    case: Annotated[
        str, typer.Option(help="; ".join(f"{one.name}: {one.title}" for one in cases.CASES.values()))
    ] = "1",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=f"A parameter of the case. {_parameters()}")
    ] = None,
    fix: Annotated[str | None, typer.Option(help="Another fix of the incident; without it, the case's own")] = None,
    patch: Annotated[int, typer.Option(min=1, help="Which of the fix's patches kubectl applies")] = 1,
    churn: Annotated[
        bool, typer.Option("--churn", help="Instead of a case: pods come and go, a node is drained, a kubelet restarts")
    ] = False,
    pods: Annotated[int, typer.Option(min=20, max=2_000, help="How many pods --churn creates")] = 200,
    seconds: Annotated[int, typer.Option(min=60, max=900, help="Over how many seconds it creates them")] = 300,
    capabilities: Annotated[
        bool, typer.Option("--capabilities", help="Instead of a case: the collector without each of its capabilities")
    ] = False,
    store: Annotated[
        bool, typer.Option("--store", help="Store what --capabilities finds, for docs/sources.md")
    ] = False,
    json_: Json = False,
) -> None:
    """A case on a real Kubernetes with the chart's collector; kubectl applies its fix (docs/labs.md)"""
    if case not in cases.CASES:
        raise typer.BadParameter(f"{case} is not one of {', '.join(cases.CASES)}.", param_hint="--case")
    say = progress()
    with complaints(None, None):
        if churn:
            _churn(pods, seconds, say, json_)
        elif capabilities:
            _capabilities(store, say, json_)
        else:
            chosen = cases.CASES[case]
            report = cases.run(chosen, chosen.given(set_ or []), say, fix, patch)
            _show(report, json_)


def _show(report: cases.Report, json_: bool) -> None:
    typer.echo(f"{report.subject} on {report.node}\n{attempt.table(report.attempt)}", err=json_)
    if json_:
        typer.echo(report.model_dump_json())


def _churn(pods: int, seconds: int, say: Say, json_: bool) -> None:
    found = churns.run(pods, seconds, say)
    typer.echo(churn_report.table(found), err=json_)
    if json_:
        typer.echo(found.model_dump_json())


def _capabilities(store: bool, say: Say, json_: bool) -> None:
    found = capabilities_.run(say)
    if store:
        capabilities_.store(found)
    for missing, less in found.without.items():
        typer.echo(f"Without {missing}: {len(less)} of {len(found.whole)} sources change", err=json_)
    if json_:
        typer.echo(json.dumps(asdict(found)))

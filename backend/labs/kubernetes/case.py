"""What the product says about a case on the cluster, and what its fix does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from labs.applying import attempt
from labs.applying.attempt import Attempt
from labs.applying.ongoing import Ongoing, ProposedFix
from labs.console import Say
from labs.errors import LabError
from labs.hosting import product_for_others
from labs.kubernetes import burst, chart, cluster, forwarding, gc, nodelocal, probing, searching, verifying
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import Case, Fault, P
from labs.product import Product

LAB = "kubernetes"
_ALL: tuple[Case[Any], ...] = (
    gc.CASE,
    burst.CASE,
    probing.CASE,
    nodelocal.CASE,
    searching.CASE,
    verifying.CASE,
)
CASES = {one.name: one for one in _ALL}


class Report(BaseModel):
    """The report of one case.

    `title` and `summary` are the incident's. `subject`, `namespace`, `workload`, and `node` are as the product names
    them, `also_affected` the incident's other containers. `command` is what was run.
    """

    model_config = ConfigDict(extra="forbid")

    case: str
    parameters: dict[str, Any]
    title: str
    summary: str
    subject: str
    also_affected: list[str]
    namespace: str | None
    workload: str | None
    node: str
    others: list[str]
    command: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Watched:
    """A cluster whose collectors send to a product."""

    cluster: Cluster
    product: Product


@contextmanager
def watched(say: Say, nodes: int = 1) -> Iterator[Watched]:
    """The cluster with the chart's collectors, and their own product to send to.

    With one node: the first one, and nothing of the lab runs on the others. With more: all nodes.
    """
    with (
        cluster.running(say, nodes) as made,
        made.only_first_node() if nodes == 1 else nullcontext(),
        product_for_others(say, attempt.ENVIRONMENT) as (product, token),
    ):
        port = urlsplit(product.url).port
        if port is None:
            raise LabError(f"{product.url} has no port.")
        with forwarding.forwarded(port) as server:
            chart.install_collectors(made, server, token, say, on_all=nodes > 1)
            try:
                product.wait_for("the node's collector", product.receives, 60)
                yield Watched(made, product)
            finally:
                left = chart.uninstall(made)
        if left:
            raise LabError(f"After `helm uninstall` the cluster still has {', '.join(left)}.")


def run(case: Case[P], parameters: P, say: Say, fix: str | None = None, patch: int = 1) -> Report:
    """Make the fault, run a patch of a fix (of the case's own, if none is given), and wait for the verdict."""
    with watched(say) as here, case.made(here.cluster, parameters, say) as fault:
        return tried(here, case, parameters, fault, say, fix or case.fix, patch)


def tried(here: Watched, case: Case[P], parameters: P, fault: Fault, say: Say, fix_id: str, number: int = 1) -> Report:
    """The result of a fix on a sustained fault. Raises LabError if one fault opens several incidents."""
    commands: list[str] = []

    def apply(fix: ProposedFix) -> None:
        by_lab = fault.command if fix_id == case.fix else None
        command = _patch(fix, number) if by_lab is None else by_lab(fix)
        say(command)
        here.cluster.shell(command)
        commands.append(command)

    ongoing = Ongoing(
        LAB,
        f"case-{case.name}",
        case.cause,
        None,
        fault.goes_on,
        {fix_id: apply},
        before_s=fault.before_s,
        to_incident_s=fault.to_incident_s,
        to_notice_s=fault.to_notice_s,
    )
    done = attempt.attempt(here.product, ongoing, fix_id, say)
    listed = here.product.all_incidents()
    incidents = [one for one in listed if one["cause"] == case.cause]
    rest = [one for one in listed if one["cause"] != case.cause]
    if len(incidents) != 1:
        named = [f"{one['subject']['name']}: {one['title']}" for one in incidents]
        raise LabError(f"One fault is {len(incidents)} incidents: {'; '.join(named)}")
    told = here.product.incident(int(incidents[0]["id"]))
    return Report(
        case=case.name,
        parameters=parameters.model_dump(),
        title=told["title"],
        summary=told["summary"],
        subject=told["subject"]["name"],
        also_affected=sorted(one["name"] for one in told["also_affected"]),
        namespace=told["namespace"],
        workload=told["workload"],
        node=told["subject"]["node"],
        others=[f"{one['cause']}: {one['title']}" for one in rest],
        command=commands[0],
        attempt=done,
    )


def _patch(fix: ProposedFix, number: int) -> str:
    """The command that the incident offers to paste. Raises LabError if that patch is not a command."""
    patches = fix["patches"]
    if not 1 <= number <= len(patches) or patches[number - 1]["language"] != "shell":
        listed = ", ".join(f"{at}: {one['label']} ({one['language']})" for at, one in enumerate(patches, 1))
        raise LabError(f"{fix['id']} has no command at --patch {number}. Its patches: {listed or 'none'}.")
    return str(patches[number - 1]["text"])

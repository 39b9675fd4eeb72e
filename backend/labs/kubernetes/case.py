"""What the product says of case 1 on the cluster, and what its fix does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from labs.applying import attempt
from labs.applying.attempt import Attempt
from labs.applying.ongoing import Ongoing, ProposedFix
from labs.console import Say
from labs.errors import LabError
from labs.hosting import product_for_others
from labs.kubernetes import chart, cluster, dns, forwarding
from labs.kubernetes.cluster import Cluster
from labs.product import Product

LAB, CAUSE, FIX = "kubernetes", "cpu/gc_throttling", "raise_cpu_limit"


class Report(BaseModel):
    """`subject` and `node` are as the product names them; `command` is the patch as it was run."""

    model_config = ConfigDict(extra="forbid")

    case: int
    subject: str
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
def watched(say: Say) -> Iterator[Watched]:
    """The cluster with the chart's collectors, and a product of its own that they send to."""
    with cluster.running(say) as made, product_for_others(say, attempt.ENVIRONMENT) as (product, token):
        port = urlsplit(product.url).port
        if port is None:
            raise LabError(f"{product.url} has no port.")
        with forwarding.forwarded(port) as server:
            chart.install_collectors(made, server, token, say)
            try:
                product.wait_for("the node's collector", product.receives, 60)
                yield Watched(made, product)
            finally:
                left = chart.uninstall(made)
        if left:
            raise LabError(f"After `helm uninstall` the cluster still has {', '.join(left)}.")


def run(say: Say) -> Report:
    """Make the fault, run the incident's own patch, wait for the verdict."""
    with watched(say) as here, dns.served(here.cluster, say) as place:
        commands: list[str] = []

        def apply(fix: ProposedFix) -> None:
            command = str(fix["patches"][0]["text"])
            say(command)
            here.cluster.shell(command)
            commands.append(command)

        fault = Ongoing(LAB, "case-1", CAUSE, (place.key,), lambda: dns.is_asked(here.cluster), {FIX: apply})
        done = attempt.attempt(here.product, fault, FIX, say)
        incidents = [one for one in here.product.all_incidents() if one["cause"] == CAUSE]
        others = [f"{one['cause']}: {one['title']}" for one in here.product.all_incidents() if one["cause"] != CAUSE]
        if len(incidents) != 1:
            told = [f"{one['subject']['name']}: {one['title']}" for one in incidents]
            raise LabError(f"One fault is {len(incidents)} incidents: {'; '.join(told)}")
        subject = incidents[0]["subject"]
        return Report(
            case=1, subject=subject["name"], node=subject["node"], others=others, command=commands[0], attempt=done
        )

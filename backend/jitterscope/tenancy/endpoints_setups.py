"""How to start a collector, or another program that sends here."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from jitterscope.bounds import QUICK, bounded
from jitterscope.paging import unpaged
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.setups import address, agent, alloy, compose, kubernetes, linux, opentelemetry, prometheus
from jitterscope.tenancy.setups.setup import Setups

router = APIRouter(prefix="/collectors", tags=["collectors"])
ReadCollectors = Annotated[Principal, Depends(require("collectors:read"))]
# In the order of the choice: collectors first, because only their data is searched for causes.
_ALL = (
    linux.setup, compose.setup, kubernetes.setup,
    prometheus.setup, alloy.setup, agent.setup, opentelemetry.setup,
)  # fmt: skip


@router.get("/setups")
@bounded(QUICK)
@unpaged("Setups are code.")
def list_setups(
    request: Request,
    principal: ReadCollectors,
    origin: Annotated[
        str | None,
        Query(
            pattern=address.ORIGIN,
            max_length=300,
            description="URL by which you reach this service, as a browser has it; default: the request's. Used if the "
            "public URL is a loopback address",
        ),
    ] = None,
) -> Setups:
    """Commands and configuration that start a collector on Linux, Compose, or Kubernetes, or that make Prometheus,
    Grafana Alloy, and others send here."""
    server = address.server_for(request, origin)
    return Setups(server=server, only_here=address.only_here(server), items=[setup(server) for setup in _ALL])

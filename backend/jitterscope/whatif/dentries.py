"""Answers how long the kernel would be busy dropping dentries of a node."""

from __future__ import annotations

from jitterscope import asked
from jitterscope.db import organization_session
from jitterscope.diagnosis.whatif import dentry_drop
from jitterscope.errors import not_found
from jitterscope.incidents import snapshots
from jitterscope.inventory import service as inventory
from jitterscope.series.types import TICK_US
from jitterscope.settings import settings
from jitterscope.whatif.dentry_schemas import DentryDrop, DentryDropRequest


def answer(organization_id: int, request: DentryDropRequest) -> DentryDrop:
    """From the window that diagnoses look at. Raises Problem 404 (no such resource, no data) and 422."""
    with organization_session(organization_id) as session:
        resource = inventory.resource(session, request.resource_id)
        node = None if resource is None else inventory.resource(session, resource.node_id)
        clock_us = None if node is None else inventory.node_clock_us(session, node.id)
        if node is None or clock_us is None:
            raise not_found("resource", request.resource_id)
        to_us = clock_us if request.to is None else asked.instant(str(request.to))
        to_us -= to_us % TICK_US
        from_us = to_us - int(settings().diagnosis_window_s * 1_000_000)
        tree = inventory.subject_tree(session, node.id, from_us, to_us)
        if tree is None:
            raise not_found("resource", request.resource_id)
        snapshot = snapshots.read(session, tree, from_us, to_us)
    said = dentry_drop.predict(snapshot, request.negative_dentries, request.positive_dentries, request.inodes)
    if said is None:
        why = snapshot.unavailable.get("dentry_state", "no data from the collector source dentry_state in this window")
        return DentryDrop(
            resource_id=node.id, node=node.name, to_us=to_us, pause_s=None, negative_dentries=None,
            positive_dentries=None, inodes=None, each_us=None, source=None, basis=None, waiting=None,
            cannot_tell=f"How many dentries there are is not known: {why}.",
        )  # fmt: skip
    return DentryDrop(
        resource_id=node.id,
        node=node.name,
        to_us=to_us,
        pause_s=said.seconds,
        negative_dentries=round(said.negative),
        positive_dentries=round(said.positive),
        inodes=round(said.inodes),
        each_us=said.cost.each_us,
        source=said.cost.source,
        basis=said.cost.basis,
        waiting=said.waiting,
        cannot_tell=None,
    )

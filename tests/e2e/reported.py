"""A change that a pipeline reports to the running product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from tests.e2e.conftest import Product


@contextmanager
def changed(product: Product, resource_id: int, title: str, at_us: int) -> Iterator[None]:
    """While it runs: afterwards the change is gone."""
    report = {"title": title, "resource_id": resource_id, "at": datetime.fromtimestamp(at_us / 1e6, UTC).isoformat()}
    with product.client() as client:
        made = client.post("/api/v1/changes", json=report).raise_for_status().json()
        yield
        client.delete(f"/api/v1/changes/{made['id']}").raise_for_status()

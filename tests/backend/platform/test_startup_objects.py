"""Garbage collections of the API do not walk what it is made of."""

from __future__ import annotations

import gc

from fastapi.testclient import TestClient


def test_what_the_application_is_made_of_is_left_out_of_collections(client: TestClient) -> None:
    kept = gc.get_freeze_count()
    assert kept > 100_000
    # Once in a process: what is garbage by now is not kept for good.
    with TestClient(client.app):
        assert gc.get_freeze_count() <= kept

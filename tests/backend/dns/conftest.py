"""A node whose NodeLocal DNSCache needs more connections to a dnsmasq than it serves, fed through the real route."""

from __future__ import annotations

import pytest

from jitterscope.recordings.model import Recording
from tests.backend.incidents.conftest import Service, service
from tests.support.dns_node import load, recorded

__all__ = ["Service", "service"]


@pytest.fixture(scope="session")
def exhausted() -> Recording:
    return recorded(load())


@pytest.fixture(scope="session")
def calm() -> Recording:
    """The same servers, which never need more than ten connections."""
    return recorded(load(burst_qps=200.0))

"""The service with recordings in it, as in the incident tests."""

from tests.backend.incidents.conftest import gc_fault, healthy, service

__all__ = ["gc_fault", "healthy", "service"]

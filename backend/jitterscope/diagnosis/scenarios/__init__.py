"""Simulators and scenarios: synthetic telemetry with a known cause. Not shipped with the service."""

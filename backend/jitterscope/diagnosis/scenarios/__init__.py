"""Telemetry whose cause is known because it was made: simulators and scenarios. Not shipped with the service."""

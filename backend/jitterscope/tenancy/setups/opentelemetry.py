"""The OpenTelemetry Collector."""

from __future__ import annotations

from jitterscope.tenancy.setups.setup import TOKEN, Setup


def setup(server: str) -> Setup:
    return Setup(
        name="opentelemetry", title="OpenTelemetry Collector", sends="metrics", file="config.yaml", text=_text(server),
        next="Add prometheusremotewrite/jitterscope to the exporters of the metrics pipeline, and restart it.",
    )  # fmt: skip


def _text(server: str) -> str:
    return f"""\
exporters:
  prometheusremotewrite/jitterscope:
    endpoint: {server}/api/v1/write
    headers:
      Authorization: Bearer {TOKEN}
    external_labels:
      node: ${{env:HOSTNAME}}
    # k8s.pod.name and the like become labels: by them a series is found on the page of its pod.
    resource_to_telemetry_conversion:
      enabled: true
"""

"""Prometheus."""

from __future__ import annotations

from jitterscope.tenancy.setups.setup import TOKEN, Setup


def setup(server: str) -> Setup:
    return Setup(
        name="prometheus", title="Prometheus", sends="metrics", file="prometheus.yml", text=_text(server),
        next="Add this to prometheus.yml, set the cluster's name, and reload Prometheus.",
    )  # fmt: skip


def _text(server: str) -> str:
    return f"""\
global:
  external_labels:
    cluster: CLUSTER  # the name of yours: tells its targets from those of other clusters
remote_write:
  - url: {server}/api/v1/write
    authorization:
      credentials: {TOKEN}
    queue_config:
      max_samples_per_send: 2000
      retry_on_http_429: true
"""

"""The Grafana Agent."""

from __future__ import annotations

from jitterscope.tenancy.setups.setup import TOKEN, Setup


def setup(server: str) -> Setup:
    return Setup(
        name="agent", title="Grafana Agent", sends="metrics", file="agent.yaml", text=_text(server),
        next="Start the agent with -config.expand-env. Grafana ended its support on 2025-11-01: Alloy replaces it.",
    )  # fmt: skip


def _text(server: str) -> str:
    return f"""\
metrics:
  global:
    external_labels:
      node: ${{HOSTNAME}}  # each node has its own 127.0.0.1: this tells them apart
    remote_write:
      - url: {server}/api/v1/write
        authorization:
          credentials: {TOKEN}
        queue_config:
          max_samples_per_send: 2000
          retry_on_http_429: true
"""

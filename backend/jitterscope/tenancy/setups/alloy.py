"""Grafana Alloy."""

from __future__ import annotations

from jitterscope.tenancy.setups.setup import TOKEN, Setup


def setup(server: str) -> Setup:
    return Setup(
        name="alloy", title="Grafana Alloy", sends="metrics", file="config.alloy", text=_text(server),
        next="Add prometheus.remote_write.jitterscope.receiver to forward_to of each scrape, and reload Alloy.",
    )  # fmt: skip


def _text(server: str) -> str:
    return f"""\
prometheus.remote_write "jitterscope" {{
  endpoint {{
    url          = "{server}/api/v1/write"
    bearer_token = "{TOKEN}"

    queue_config {{
      max_samples_per_send = 2000
      retry_on_http_429    = true
    }}
  }}

  // Each node has its own 127.0.0.1: this tells them apart.
  external_labels = {{
    node = constants.hostname,
  }}
}}
"""

"""How to set up remote-write programs to send here. Decision 0093 says which of them was tried, and how."""

from __future__ import annotations

from jitterscope.remote.schemas import SenderSetup
from jitterscope.settings import settings

TOKEN = "TOKEN"  # noqa: S105  where the secret of an ingest token belongs

_PROMETHEUS = f"""\
global:
  external_labels:
    cluster: CLUSTER  # the name of yours: tells its targets from those of other clusters
remote_write:
  - url: URL
    authorization:
      credentials: {TOKEN}
    queue_config:
      max_samples_per_send: 2000
      retry_on_http_429: true
"""
_ALLOY = f"""\
prometheus.remote_write "jitterscope" {{
  endpoint {{
    url          = "URL"
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
_AGENT = f"""\
metrics:
  global:
    external_labels:
      node: ${{HOSTNAME}}  # each node has its own 127.0.0.1: this tells them apart
    remote_write:
      - url: URL
        authorization:
          credentials: {TOKEN}
        queue_config:
          max_samples_per_send: 2000
          retry_on_http_429: true
"""
_OPENTELEMETRY = f"""\
exporters:
  prometheusremotewrite/jitterscope:
    endpoint: URL
    headers:
      Authorization: Bearer {TOKEN}
    external_labels:
      node: ${{env:HOSTNAME}}
    # k8s.pod.name and the like become labels: by them a series is found on the page of its pod.
    resource_to_telemetry_conversion:
      enabled: true
"""

_ALL = (
    SenderSetup(
        name="prometheus", title="Prometheus", file="prometheus.yml", text=_PROMETHEUS,
        next="Add this to prometheus.yml, set the cluster's name, and reload Prometheus.",
    ),
    SenderSetup(
        name="alloy", title="Grafana Alloy", file="config.alloy", text=_ALLOY,
        next="Add prometheus.remote_write.jitterscope.receiver to forward_to of each scrape, and reload Alloy.",
    ),
    SenderSetup(
        name="agent", title="Grafana Agent", file="agent.yaml", text=_AGENT,
        next="Start the agent with -config.expand-env. Grafana ended its support on 2025-11-01: Alloy replaces it.",
    ),
    SenderSetup(
        name="opentelemetry", title="OpenTelemetry Collector", file="config.yaml", text=_OPENTELEMETRY,
        next="Add prometheusremotewrite/jitterscope to the exporters of the metrics pipeline, and restart it.",
    ),
)  # fmt: skip


def all_of_them() -> list[SenderSetup]:
    """All setups, with this service's address."""
    url = f"{settings().public_url}/api/v1/write"
    return [one.model_copy(update={"text": one.text.replace("URL", url)}) for one in _ALL]

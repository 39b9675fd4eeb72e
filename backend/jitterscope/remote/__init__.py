"""Metrics that other systems send by Prometheus remote write: by name and label, their resources, and their senders."""

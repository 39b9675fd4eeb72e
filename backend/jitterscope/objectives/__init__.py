"""Latency objectives of workloads: set by people, or by the annotation of a pod."""

"""Latency objectives of workloads: set by users, or by the annotation of a pod."""

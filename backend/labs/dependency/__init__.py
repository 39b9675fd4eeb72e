"""The slow-dependency lab: an HTTP service that calls a slow database or another slow service."""

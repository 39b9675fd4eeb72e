"""Causes that take CPU time away from a container."""

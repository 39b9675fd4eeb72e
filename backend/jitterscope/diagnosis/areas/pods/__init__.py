"""Causes that make pods start late."""

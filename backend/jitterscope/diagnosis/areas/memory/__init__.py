"""Causes that are about memory: limits that are reached, and reclaim that makes tasks wait."""

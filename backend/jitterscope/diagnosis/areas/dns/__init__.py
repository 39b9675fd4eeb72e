"""Causes on the way of a DNS query: servers, connections, names and settings."""

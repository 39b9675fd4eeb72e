"""Fixes tried on a fault that goes on: applied for real, seen or declared, measured and judged by the product."""

"""Causes in the node's kernel: dentries, their reclaim, and who makes them."""

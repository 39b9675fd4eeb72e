"""Showing an incident to others: links that need no account, and the post-mortem as Markdown."""

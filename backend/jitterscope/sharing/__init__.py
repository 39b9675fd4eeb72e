"""Sharing an incident: links that need no account, and the post-mortem as Markdown."""

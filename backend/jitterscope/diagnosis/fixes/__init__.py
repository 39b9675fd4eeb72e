"""Fixes that several causes share, one a file, each gated by facts."""

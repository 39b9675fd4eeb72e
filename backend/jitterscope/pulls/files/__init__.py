"""Edits files as text: only what is named changes, all other bytes stay."""

"""The error that stops a lab."""

from __future__ import annotations


class LabError(Exception):
    """The lab could not run (not: the product saw something else). The message says what to do."""

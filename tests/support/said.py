"""What labs print while they run, kept by pytest for tests that fail."""

from __future__ import annotations


def say(text: str) -> None:
    print(text)  # noqa: T201

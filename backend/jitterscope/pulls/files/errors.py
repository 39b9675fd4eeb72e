"""Why a file cannot be changed."""

from __future__ import annotations


class CannotChange(Exception):
    """The text describes the problem with the file in a full sentence; `what_to_do` says how to continue."""

    def __init__(self, text: str, what_to_do: str) -> None:
        super().__init__(text)
        self.text, self.what_to_do = text, what_to_do

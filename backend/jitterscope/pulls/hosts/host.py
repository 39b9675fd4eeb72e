"""The operations of a repository host, whatever its API calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Kind = Literal["github", "gitlab"]
State = Literal["open", "merged", "closed"]
Reason = Literal["unreachable", "token", "forbidden", "missing", "refused", "rate_limit", "moved", "unreadable"]


class HostFailed(Exception):
    """The host did not do it. `retry_after_s` is set if it said when to retry."""

    def __init__(self, reason: Reason, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.retry_after_s = reason, detail, retry_after_s


@dataclass(frozen=True, slots=True)
class File:
    """A file as it should be on the branch. `old`: as on the base branch, None if it is new."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A pull request (GitHub) or merge request (GitLab). `number` is what users see (#12, !12)."""

    number: int
    url: str


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a pull request. `merged_at` is set only once it is merged, if the host reports it."""

    state: State
    merged_at: datetime | None


class Host(Protocol):
    """One repository, reached with one token. Every method raises HostFailed."""

    def head(self, branch: str) -> str | None:
        """The commit at the end of a branch; None if there is no such branch."""

    def read(self, path: str, commit: str) -> str | None:
        """A text file at a commit; None if it does not exist there."""

    def commit(self, branch: str, base: str, message: str, files: Sequence[File]) -> None:
        """Create a branch with one commit on top of `base`."""

    def delete_branch(self, branch: str) -> None: ...

    def find_open(self, branch: str, marker: str) -> Opened | None:
        """The open pull request of a branch whose text contains the marker."""

    def open(self, branch: str, base_branch: str, title: str, body: str) -> Opened: ...

    def status(self, number: int) -> Status: ...

    def comment(self, number: int, body: str) -> str:
        """Write a comment and return its URL."""

    def find_comment(self, number: int, marker: str) -> str | None:
        """The URL of a comment that contains the marker, among the newest few hundred."""

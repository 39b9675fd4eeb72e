"""Connects to the host of a repository by its kind."""

from __future__ import annotations

from jitterscope.pulls.hosts.github import GitHub
from jitterscope.pulls.hosts.gitlab import GitLab
from jitterscope.pulls.hosts.host import Host, Kind

NAMES: dict[Kind, str] = {"github": "GitHub", "gitlab": "GitLab"}
URLS: dict[Kind, str] = {"github": "https://github.com", "gitlab": "https://gitlab.com"}


def connect(kind: Kind, url: str, repository: str, token: str) -> Host:
    """The connection of one operation: all its requests share one time limit."""
    return GitHub(url, repository, token) if kind == "github" else GitLab(url, repository, token)

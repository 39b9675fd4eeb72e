"""GitHub and GitHub Enterprise Server: https://docs.github.com/en/rest.

The commit is made through the Git database (tree, commit, then the branch that points to it), so that a branch has all
files or does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote, urlsplit

from jitterscope.pulls.hosts.contents import decoded
from jitterscope.pulls.hosts.host import File, HostFailed, Opened, Status
from jitterscope.pulls.hosts.rest import Rest

_PAGES = 5


def api_of(url: str) -> str:
    """The base URL of a host's REST API: github.com and ghe.com use a separate host, servers use /api/v3."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if host in ("github.com", "www.github.com", "api.github.com"):
        return "https://api.github.com"
    if host.endswith(".ghe.com"):
        return f"https://api.{host.removeprefix('api.')}"
    return url.rstrip("/").removesuffix("/api/v3") + "/api/v3"


class GitHub:
    """One repository, "owner/name"."""

    def __init__(self, url: str, repository: str, token: str) -> None:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        self._rest = Rest("GitHub", api_of(url), headers)
        self._owner = repository.partition("/")[0]
        self._at = f"/repos/{quote(repository)}"

    def head(self, branch: str) -> str | None:
        found = self._rest.get(f"{self._at}/git/ref/heads/{quote(branch)}", may_miss=True)
        if found is None:
            # The repository itself may be missing.
            self._rest.get(self._at)
            return None
        return str(found["object"]["sha"])

    def read(self, path: str, commit: str) -> str | None:
        found = self._rest.get(f"{self._at}/contents/{quote(path)}?ref={quote(commit)}", may_miss=True)
        if found is None:
            return None
        if not isinstance(found, dict) or found.get("type") != "file":
            raise HostFailed("unreadable", f"{path} is not a file in the repository.")
        if found.get("encoding") != "base64":
            raise HostFailed("unreadable", f"{path} is larger than the 1 MB that GitHub returns.")
        return decoded(path, str(found["content"]))

    def commit(self, branch: str, base: str, message: str, files: Sequence[File]) -> None:
        tree = self._rest.get(f"{self._at}/git/commits/{quote(base)}")["tree"]["sha"]
        entries = [{"path": one.path, "mode": "100644", "type": "blob", "content": one.new} for one in files]
        new = self._rest.post(f"{self._at}/git/trees", {"base_tree": tree, "tree": entries})["sha"]
        content = {"message": message, "tree": new, "parents": [base]}
        sha = self._rest.post(f"{self._at}/git/commits", content)["sha"]
        self._rest.post(f"{self._at}/git/refs", {"ref": f"refs/heads/{branch}", "sha": sha})

    def delete_branch(self, branch: str) -> None:
        self._rest.delete(f"{self._at}/git/refs/heads/{quote(branch)}")

    def find_open(self, branch: str, marker: str) -> Opened | None:
        head = quote(f"{self._owner}:{branch}", safe="")
        for one in self._rest.get(f"{self._at}/pulls?state=open&head={head}"):
            if one["head"]["ref"] == branch and marker in (one.get("body") or ""):
                return Opened(int(one["number"]), str(one["html_url"]))
        return None

    def open(self, branch: str, base_branch: str, title: str, body: str) -> Opened:
        found = self._rest.post(
            f"{self._at}/pulls", {"title": title, "head": branch, "base": base_branch, "body": body}
        )
        return Opened(int(found["number"]), str(found["html_url"]))

    def status(self, number: int) -> Status:
        found = self._rest.get(f"{self._at}/pulls/{number}")
        merged_at = found.get("merged_at")
        if merged_at is not None:
            return Status("merged", datetime.fromisoformat(merged_at))
        return Status("open" if found["state"] == "open" else "closed", None)

    def comment(self, number: int, body: str) -> str:
        return str(self._rest.post(f"{self._at}/issues/{number}/comments", {"body": body})["html_url"])

    def find_comment(self, number: int, marker: str) -> str | None:
        # Oldest first: the order cannot be chosen for comments of an issue.
        for page in range(1, _PAGES + 1):
            found = self._rest.get(f"{self._at}/issues/{number}/comments?per_page=100&page={page}")
            for one in found:
                if marker in (one.get("body") or ""):
                    return str(one["html_url"])
            if len(found) < 100:
                return None
        return None

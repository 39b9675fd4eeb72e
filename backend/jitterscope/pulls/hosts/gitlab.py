"""GitLab, gitlab.com or self-managed: https://docs.gitlab.com/api/rest/."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from jitterscope.pulls.hosts.contents import decoded
from jitterscope.pulls.hosts.host import File, HostFailed, Opened, Status
from jitterscope.pulls.hosts.rest import Rest

_PAGES = 5


def api_of(url: str) -> str:
    """The base URL of a host's REST API; a GitLab may be below a path."""
    return url.rstrip("/").removesuffix("/api/v4") + "/api/v4"


class GitLab:
    """One project by its path, "group/subgroup/name"."""

    def __init__(self, url: str, repository: str, token: str) -> None:
        # Personal, project and group access tokens.
        self._rest = Rest("GitLab", api_of(url), {"PRIVATE-TOKEN": token})
        self._at = f"/projects/{quote(repository, safe='')}"

    def head(self, branch: str) -> str | None:
        found = self._rest.get(f"{self._at}/repository/branches/{quote(branch, safe='')}", may_miss=True)
        if found is None:
            # The project itself may be missing.
            self._rest.get(self._at)
            return None
        return str(found["commit"]["id"])

    def read(self, path: str, commit: str) -> str | None:
        address = f"{self._at}/repository/files/{quote(path, safe='')}?ref={quote(commit, safe='')}"
        found = self._rest.get(address, may_miss=True)
        if found is None:
            return None
        if found.get("encoding") != "base64":
            raise HostFailed("unreadable", f"GitLab did not return {path} as base64.")
        return decoded(path, str(found["content"]))

    def commit(self, branch: str, base: str, message: str, files: Sequence[File]) -> None:
        actions = [
            {"action": "create" if one.old is None else "update", "file_path": one.path, "content": one.new}
            for one in files
        ]
        content = {"branch": branch, "start_sha": base, "commit_message": message, "actions": actions}
        self._rest.post(f"{self._at}/repository/commits", content)

    def delete_branch(self, branch: str) -> None:
        self._rest.delete(f"{self._at}/repository/branches/{quote(branch, safe='')}")

    def find_open(self, branch: str, marker: str) -> Opened | None:
        query = f"state=opened&source_branch={quote(branch, safe='')}"
        for one in self._rest.get(f"{self._at}/merge_requests?{query}"):
            if one["source_branch"] == branch and marker in (one.get("description") or ""):
                return Opened(int(one["iid"]), str(one["web_url"]))
        return None

    def open(self, branch: str, base_branch: str, title: str, body: str) -> Opened:
        content = {
            "source_branch": branch, "target_branch": base_branch, "title": title, "description": body,
            "remove_source_branch": True,
        }  # fmt: skip
        found = self._rest.post(f"{self._at}/merge_requests", content)
        return Opened(int(found["iid"]), str(found["web_url"]))

    def status(self, number: int) -> Status:
        found = self._rest.get(f"{self._at}/merge_requests/{number}")
        if found["state"] == "merged":
            at = found.get("merged_at")
            return Status("merged", None if at is None else datetime.fromisoformat(at))
        # "locked" is the state during a merge.
        return Status("closed" if found["state"] == "closed" else "open", None)

    def comment(self, number: int, body: str) -> str:
        found = self._rest.post(f"{self._at}/merge_requests/{number}/notes", {"body": body})
        return self._address(number, int(found["id"]))

    def find_comment(self, number: int, marker: str) -> str | None:
        for page in range(1, _PAGES + 1):
            order = f"sort=desc&order_by=created_at&per_page=100&page={page}"
            found = self._rest.get(f"{self._at}/merge_requests/{number}/notes?{order}")
            for one in found:
                if marker in (one.get("body") or ""):
                    return self._address(number, int(one["id"]))
            if len(found) < 100:
                return None
        return None

    def _address(self, number: int, note: int) -> str:
        return f"{self._rest.get(f'{self._at}/merge_requests/{number}')['web_url']}#note_{note}"

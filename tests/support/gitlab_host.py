"""The part of GitLab's REST API that merge requests need; see git_hosts.py."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import unquote

from tests.support.git_hosts import TOKEN, GitHost, PullRequest, json_answer
from tests.support.receiver import Answer, Request


class GitLab(GitHost):
    """A self-managed GitLab: the API is below /api/v4, projects are named by their encoded path."""

    def route(self, request: Request, path: str, query: dict[str, str]) -> Answer:
        if request.headers.get("private-token") != TOKEN:
            return json_answer(401, {"message": "401 Unauthorized"})
        at = f"/api/v4/projects/{self.repository.replace('/', '%2F')}"
        if path != at and not path.startswith(at + "/"):
            return json_answer(404, {"message": "404 Project Not Found"})
        rest = path[len(at) :]
        content = json.loads(request.body) if request.body else {}
        for method, pattern, handler in (
            ("GET", r"", lambda: json_answer(200, {"path_with_namespace": self.repository})),
            ("GET", r"/repository/branches/([^/]+)", self._branch),
            ("DELETE", r"/repository/branches/([^/]+)", self._delete),
            (
                "GET",
                r"/repository/files/([^/]+)",
                lambda name: self._file(name, query["ref"]),
            ),
            ("POST", r"/repository/commits", lambda: self._commit(content)),
            ("GET", r"/merge_requests", lambda: self._list(query)),
            ("POST", r"/merge_requests", lambda: self._open(content)),
            (
                "GET",
                r"/merge_requests/(\d+)",
                lambda number: json_answer(200, self._shown(self.pulls[int(number) - 1])),
            ),
            (
                "GET",
                r"/merge_requests/(\d+)/notes",
                lambda number: self._notes(int(number), query),
            ),
            (
                "POST",
                r"/merge_requests/(\d+)/notes",
                lambda number: self._note(int(number), content),
            ),
        ):
            found = re.fullmatch(pattern, rest)
            if request.method == method and found is not None:
                return handler(*map(unquote, found.groups()))
        return json_answer(404, {"error": "404 Not Found"})

    def _branch(self, name: str) -> Answer:
        if name not in self.branches:
            return json_answer(404, {"message": "404 Branch Not Found"})
        return json_answer(200, {"name": name, "commit": {"id": self.branches[name]}})

    def _delete(self, name: str) -> Answer:
        return (
            Answer(204, b"") if self.branches.pop(name, None) else json_answer(404, {"message": "404 Branch Not Found"})
        )

    def _file(self, path: str, ref: str) -> Answer:
        files = self.commits[self.branches.get(ref, ref)]
        if path not in files:
            return json_answer(404, {"message": "404 File Not Found"})
        text = base64.b64encode(files[path].encode()).decode()
        return json_answer(200, {"file_path": path, "encoding": "base64", "content": text, "ref": ref})

    def _commit(self, content: dict[str, Any]) -> Answer:
        name, files = content["branch"], dict(self.commits[content["start_sha"]])
        if name in self.branches:
            said = f"A branch called '{name}' already exists. Switch to that branch in order to make changes"
            return json_answer(400, {"message": said})
        for one in content["actions"]:
            if (one["action"] == "create") == (one["file_path"] in files):
                return json_answer(400, {"message": "A file with this name already exists"})
            files[one["file_path"]] = one["content"]
        self.branches[name] = self.add_commit(files, content["commit_message"])
        return json_answer(201, {"id": self.branches[name], "message": content["commit_message"]})

    def _list(self, query: dict[str, str]) -> Answer:
        wanted = {"opened": "open"}[query["state"]]
        found = [one for one in self.pulls if one.head == query["source_branch"] and one.state == wanted]
        return json_answer(200, [self._shown(one) for one in found])

    def _open(self, content: dict[str, Any]) -> Answer:
        if any(one.head == content["source_branch"] and one.state == "open" for one in self.pulls):
            return json_answer(
                409,
                {"message": ["Another open merge request already exists for this source branch: !1"]},
            )
        one = PullRequest(
            len(self.pulls) + 1, content["title"], content["description"], content["source_branch"],
            content["target_branch"],
        )  # fmt: skip
        self.pulls.append(one)
        return json_answer(201, self._shown(one))

    def _shown(self, one: PullRequest) -> dict[str, Any]:
        return {
            "iid": one.number, "web_url": f"{self.url}/{self.repository}/-/merge_requests/{one.number}",
            "title": one.title, "description": one.body, "state": "opened" if one.state == "open" else one.state,
            "merged_at": one.merged_at, "source_branch": one.head, "target_branch": one.base,
        }  # fmt: skip

    def _notes(self, number: int, query: dict[str, str]) -> Answer:
        assert (query["sort"], query["order_by"]) == ("desc", "created_at")
        all_ = [{"id": n + 1, "body": text} for n, text in enumerate(self.pulls[number - 1].comments)][::-1]
        first = (int(query["page"]) - 1) * int(query["per_page"])
        return json_answer(200, all_[first : first + int(query["per_page"])])

    def _note(self, number: int, content: dict[str, Any]) -> Answer:
        self.pulls[number - 1].comments.append(content["body"])
        return json_answer(201, {"id": len(self.pulls[number - 1].comments), "body": content["body"]})

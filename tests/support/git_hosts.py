"""The parts of GitHub's and GitLab's REST APIs that pull requests need, over a repository in memory.

https://docs.github.com/en/rest (git, repos/contents, pulls, issues/comments) and https://docs.gitlab.com/api/
(branches, repository_files, commits, merge_requests, notes): paths, status codes, and shapes of answers and errors
match theirs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.receiver import Answer, Receiver, Request

Handler = Callable[..., Answer]
TOKEN, REPOSITORY = "test-token-0123456789", "example/deploy"


def json_answer(status: int, content: Any, **headers: str) -> Answer:
    return Answer(
        status,
        json.dumps(content).encode(),
        {"Content-Type": "application/json", **headers},
    )


@dataclass
class PullRequest:
    number: int
    title: str
    body: str
    head: str
    base: str
    state: str = "open"
    merged_at: str | None = None
    comments: list[str] = field(default_factory=list)


class GitHost(Receiver):
    """A repository with branches, commits (path → text), and pull requests."""

    def __init__(self, files: dict[str, str], repository: str = REPOSITORY) -> None:
        super().__init__()
        self.repository = repository
        self.commits: dict[str, dict[str, str]] = {}
        self.messages: dict[str, str] = {}
        self.branches = {"main": self.add_commit(files, "begin")}
        self.pulls: list[PullRequest] = []
        # What a test makes the next requests return, by method and a part of the path.
        self.failures: list[tuple[str, str, Answer]] = []
        self.respond = self._answer

    def add_commit(self, files: dict[str, str], message: str) -> str:
        sha = hashlib.sha1(f"{len(self.commits)}{message}".encode()).hexdigest()
        self.commits[sha], self.messages[sha] = dict(files), message
        return sha

    def files(self, branch: str) -> dict[str, str]:
        return self.commits[self.branches[branch]]

    def fail(self, method: str, part: str, status: int, content: Any = None, **headers: str) -> None:
        self.failures.append((method, part, json_answer(status, content or {"message": "no"}, **headers)))

    def merge(self, number: int) -> None:
        one = self.pulls[number - 1]
        one.state, one.merged_at = "merged", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self.branches[one.base] = self.branches[one.head]

    def asked(self) -> list[str]:
        """ "GET /repos/…" of each request, in order."""
        return [f"{one.method} {urlsplit(one.path).path}" for one in self.requests]

    def _answer(self, request: Request) -> Answer:
        for number, (method, part, answer) in enumerate(self.failures):
            if request.method == method and part in request.path:
                del self.failures[number]
                return answer
        parts = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        return self.route(request, parts.path, query)

    def route(self, request: Request, path: str, query: dict[str, str]) -> Answer:
        raise NotImplementedError


class GitHub(GitHost):
    """Its URL is that of a GitHub Enterprise Server: the API is below /api/v3."""

    def route(self, request: Request, path: str, query: dict[str, str]) -> Answer:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return json_answer(
                401,
                {
                    "message": "Bad credentials",
                    "documentation_url": "https://docs.github.com/rest",
                },
            )
        assert request.headers["accept"] == "application/vnd.github+json"
        at = f"/api/v3/repos/{self.repository}"
        if path != at and not path.startswith(at + "/"):
            return self._missing()
        rest = unquote(path[len(at) :])
        content = json.loads(request.body) if request.body else {}
        for method, pattern, handler in (
            (
                "GET",
                r"",
                lambda: json_answer(200, {"full_name": self.repository, "default_branch": "main"}),
            ),
            ("GET", r"/git/ref/heads/(.+)", self._ref),
            ("DELETE", r"/git/refs/heads/(.+)", self._delete),
            ("GET", r"/contents/(.+)", lambda name: self._contents(name, query["ref"])),
            (
                "GET",
                r"/git/commits/(\w+)",
                lambda sha: json_answer(200, {"sha": sha, "tree": {"sha": f"tree{sha}"}}),
            ),
            ("POST", r"/git/trees", lambda: self._tree(content)),
            ("POST", r"/git/commits", lambda: self._commit(content)),
            ("POST", r"/git/refs", lambda: self._new_ref(content)),
            ("GET", r"/pulls", lambda: self._list(query)),
            ("POST", r"/pulls", lambda: self._open(content)),
            (
                "GET",
                r"/pulls/(\d+)",
                lambda number: json_answer(200, self._shown(self.pulls[int(number) - 1])),
            ),
            (
                "GET",
                r"/issues/(\d+)/comments",
                lambda number: self._comments(int(number), query),
            ),
            (
                "POST",
                r"/issues/(\d+)/comments",
                lambda number: self._comment(int(number), content),
            ),
        ):
            found = re.fullmatch(pattern, rest)
            if request.method == method and found is not None:
                return handler(*found.groups())
        return self._missing()

    @staticmethod
    def _missing() -> Answer:
        return json_answer(
            404,
            {
                "message": "Not Found",
                "documentation_url": "https://docs.github.com/rest",
                "status": "404",
            },
        )

    def _ref(self, branch: str) -> Answer:
        if branch not in self.branches:
            return self._missing()
        return json_answer(
            200,
            {
                "ref": f"refs/heads/{branch}",
                "object": {"type": "commit", "sha": self.branches[branch]},
            },
        )

    def _delete(self, branch: str) -> Answer:
        if self.branches.pop(branch, None) is None:
            return json_answer(422, {"message": "Reference does not exist"})
        return Answer(204, b"")

    def _contents(self, path: str, ref: str) -> Answer:
        files = self.commits[self.branches.get(ref, ref)]
        if path in files:
            text = base64.encodebytes(files[path].encode()).decode()  # 76 characters per line
            return json_answer(
                200,
                {"type": "file", "encoding": "base64", "path": path, "content": text},
            )
        inside = [one for one in files if one.startswith(f"{path}/")]
        return json_answer(200, [{"type": "file", "path": one} for one in inside]) if inside else self._missing()

    def _tree(self, content: dict[str, Any]) -> Answer:
        files = dict(self.commits[content["base_tree"].removeprefix("tree")])
        for one in content["tree"]:
            assert (one["mode"], one["type"]) == ("100644", "blob")
            files[one["path"]] = one["content"]
        sha = self.add_commit(files, "a tree")
        return json_answer(201, {"sha": f"tree{sha}"})

    def _commit(self, content: dict[str, Any]) -> Answer:
        assert content["parents"][0] in self.commits
        sha = self.add_commit(self.commits[content["tree"].removeprefix("tree")], content["message"])
        return json_answer(201, {"sha": sha})

    def _new_ref(self, content: dict[str, Any]) -> Answer:
        name = content["ref"].removeprefix("refs/heads/")
        if name in self.branches:
            return json_answer(422, {"message": "Reference already exists"})
        self.branches[name] = content["sha"]
        return json_answer(201, {"ref": content["ref"], "object": {"sha": content["sha"]}})

    def _list(self, query: dict[str, str]) -> Answer:
        owner, _, head = query["head"].partition(":")
        assert owner == self.repository.partition("/")[0]
        return json_answer(
            200,
            [self._shown(one) for one in self.pulls if one.head == head and one.state == query["state"]],
        )

    def _open(self, content: dict[str, Any]) -> Answer:
        if any(one.head == content["head"] and one.state == "open" for one in self.pulls):
            said = f"A pull request already exists for example:{content['head']}."
            error = {"resource": "PullRequest", "code": "custom", "message": said}
            return json_answer(422, {"message": "Validation Failed", "errors": [error]})
        if content["base"] not in self.branches or content["head"] not in self.branches:
            error = {"resource": "PullRequest", "field": "head", "code": "invalid"}
            return json_answer(422, {"message": "Validation Failed", "errors": [error]})
        one = PullRequest(
            len(self.pulls) + 1,
            content["title"],
            content["body"],
            content["head"],
            content["base"],
        )
        self.pulls.append(one)
        return json_answer(201, self._shown(one))

    def _shown(self, one: PullRequest) -> dict[str, Any]:
        return {
            "number": one.number, "html_url": f"{self.url}/{self.repository}/pull/{one.number}", "title": one.title,
            "body": one.body, "state": "open" if one.state == "open" else "closed", "merged": one.state == "merged",
            "merged_at": one.merged_at, "head": {"ref": one.head}, "base": {"ref": one.base},
        }  # fmt: skip

    def _comments(self, number: int, query: dict[str, str]) -> Answer:
        first = (int(query["page"]) - 1) * int(query["per_page"])
        all_ = [self._shown_comment(number, n) for n in range(len(self.pulls[number - 1].comments))]
        return json_answer(200, all_[first : first + int(query["per_page"])])

    def _comment(self, number: int, content: dict[str, Any]) -> Answer:
        self.pulls[number - 1].comments.append(content["body"])
        return json_answer(201, self._shown_comment(number, len(self.pulls[number - 1].comments) - 1))

    def _shown_comment(self, number: int, index: int) -> dict[str, Any]:
        address = f"{self.url}/{self.repository}/pull/{number}#issuecomment-{index + 1}"
        return {
            "id": index + 1,
            "body": self.pulls[number - 1].comments[index],
            "html_url": address,
        }

"""A fix becomes a pull request, on stand-ins that behave as GitHub's and GitLab's documentation says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jitterscope.db import organization_session
from jitterscope.pulls.models import PullRequestRow
from jitterscope.recordings.model import Recording
from tests.backend.pulls.conftest import MANIFEST, PATH, Opener
from tests.support.git_hosts import TOKEN


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    """Lines that differ between texts with equally many lines."""
    old, new = before.splitlines(), after.splitlines()
    assert len(old) == len(new)
    return [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]


def test_the_preview_is_what_is_opened(opener: Opener, kubernetes_fault: Recording) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    shown = opener.preview(incident)
    assert opener.host.branches.keys() == {"main"}, "a preview changes nothing"
    (file,) = shown["files"]
    assert (file["path"], file["is_new"]) == (PATH, False)
    lines = file["diff"].splitlines()
    assert [line for line in lines if line[0] in "+-"] == [
        "-              cpu:  500m   # raised in June",
        "+              cpu:  2000m   # raised in June",
    ], file["diff"]
    opened = opener.open(incident)
    assert opened["state"] == "open"
    assert opened["url"].startswith(opener.host.url)
    assert opened["branch"] == shown["branch"] == f"jitterscope/incident-{incident}-raise-cpu-limit"
    (pull,) = opener.host.pulls
    assert (pull.title, pull.body, pull.base, pull.head) == (
        shown["title"],
        shown["body"],
        "main",
        shown["branch"],
    )
    (pair,) = changed_lines(MANIFEST, opener.host.files(pull.head)[PATH])
    assert pair[1].strip() == "cpu:  2000m   # raised in June"
    assert opener.host.files("main")[PATH] == MANIFEST
    assert f"incidents/{incident}" in opener.host.messages[opener.host.branches[pull.head]]


def test_a_file_that_says_otherwise_than_what_is_in_force_is_told(github: Opener, kubernetes_fault: Recording) -> None:
    """The container's limit is 500m: a file that has 1 is overridden somewhere, or not rolled out."""
    github.connect()
    incident = github.incident(kubernetes_fault)
    assert github.preview(incident)["notes"] == []
    github.host.branches["main"] = github.host.add_commit({PATH: MANIFEST.replace(" 500m", " 1")}, "other")
    (note,) = github.preview(incident)["notes"]
    assert "resources.limits.cpu to 1, but 500m is in effect" in note
    values = "web:\n  resources:\n    limits:\n      cpu: 0.5\n"
    github.host.branches["main"] = github.host.add_commit({"values.yaml": values}, "helm")
    repository = github.service.get("/repositories")[0]["id"]
    file = {"path": "values.yaml", "format": "helm_values", "values_key": "web"}
    headers = github.service.organization.headers
    github.service.client.patch(f"/api/v1/repositories/{repository}", json={"files": [file]}, headers=headers)
    shown = github.preview(incident)
    assert shown["notes"] == []
    assert "+      cpu: 2000m" in shown["files"][0]["diff"]


def test_its_text_has_the_prediction(opener: Opener, kubernetes_fault: Recording) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    opener.open(incident)
    (pull,) = opener.host.pulls
    fix = next(one for one in opener.service.get(f"/incidents/{incident}")["fixes"] if one["id"] == "raise_cpu_limit")
    assert fix["predicted"], "the model covers it"
    assert pull.title == f"coredns: {fix['title']}"
    table = [line for line in pull.body.splitlines() if line.startswith("| ")]
    assert table[0] == "| figure | now | predicted | 90 % interval |"
    assert len(table) == 2 + len(fix["predicted"])
    assert "not measured" not in pull.body
    assert f"[Incident {incident}](<http" in pull.body
    assert "### Before you merge" in pull.body
    assert f"jitterscope:incident={incident}:fix=raise_cpu_limit" in pull.body


def test_asking_again_gives_the_same_one_while_it_is_open(opener: Opener, kubernetes_fault: Recording) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    first = opener.open(incident)
    asked = len(opener.host.requests)
    again = opener.open(incident)
    assert again == first
    assert len(opener.host.requests) == asked, "the host is not asked again"
    assert opener.listed(incident)["raise_cpu_limit"]["pull_request"] == first
    entries = opener.service.get("/audit")["items"]
    assert [one["action"] for one in entries].count("pull_request.open") == 1
    assert TOKEN not in str(entries)


def test_one_whose_answer_was_lost_is_found_again(opener: Opener, kubernetes_fault: Recording) -> None:
    """The process died after the host had opened it: its row says that it is being opened."""
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    first = opener.open(incident)
    change(opener, state="opening", number=None, url=None)
    assert opener.open(incident, status=409)["type"].endswith(":being-opened")
    change(opener, opened_at=datetime.now(UTC) - timedelta(minutes=3))
    again = opener.open(incident)
    assert (again["number"], again["url"]) == (first["number"], first["url"])
    assert len(opener.host.pulls) == 1


def test_a_closed_one_can_be_opened_anew_on_another_branch(opener: Opener, kubernetes_fault: Recording) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    first = opener.open(incident)
    opener.host.pulls[0].state = "closed"
    change(opener, state="closed")
    second = opener.open(incident)
    assert second["branch"] == first["branch"] + "-2"
    assert opener.listed(incident)["raise_cpu_limit"]["pull_request"]["number"] == 2


def test_a_branch_of_that_name_is_left_alone(opener: Opener, kubernetes_fault: Recording) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    name = f"jitterscope/incident-{incident}-raise-cpu-limit"
    opener.host.branches[name] = opener.host.add_commit({"x": "somebody's"}, "mine")
    assert opener.open(incident)["branch"] == name + "-2"
    assert opener.host.files(name) == {"x": "somebody's"}


def change(opener: Opener, **values: Any) -> None:
    with organization_session(opener.service.organization.id) as session:
        for row in session.query(PullRequestRow):
            for name, value in values.items():
                setattr(row, name, value)


@pytest.mark.parametrize(
    ("status", "content", "headers", "problem"),
    [
        (401, {"message": "Bad credentials"}, {}, "repository-token"),
        (
            403,
            {"message": "Resource not accessible by personal access token"},
            {},
            "repository-forbidden",
        ),
        (404, {"message": "Not Found"}, {}, "repository-missing"),
        (
            422,
            {"message": "Validation Failed", "errors": [{"message": "No commits"}]},
            {},
            "repository-refused",
        ),
        (
            429,
            {"message": "Retry later"},
            {"Retry-After": "30"},
            "repository-rate-limit",
        ),
        (
            403,
            {"message": "API rate limit exceeded"},
            {"X-RateLimit-Remaining": "0"},
            "repository-rate-limit",
        ),
        (502, {"message": "Bad gateway"}, {}, "repository-unreachable"),
        (301, {"message": "Moved Permanently"}, {}, "repository-moved"),
        (200, ["what is this"], {}, "repository-unreadable"),
    ],
)
def test_what_the_host_refuses_is_said_and_leaves_nothing(
    opener: Opener,
    kubernetes_fault: Recording,
    status: int,
    content: Any,
    headers: dict[str, str],
    problem: str,
) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    opener.host.fail(
        "POST",
        "/pulls" if opener.kind == "github" else "/merge_requests",
        status,
        content,
        **headers,
    )
    refused = opener.open(incident, status=424)
    assert refused["type"] == f"urn:jitterscope:problem:{problem}"
    assert refused["what_to_do"]
    if isinstance(content, dict):
        assert content["message"] in refused["detail"]
    assert TOKEN not in str(refused)
    assert opener.host.branches.keys() == {"main"}, "no branch without a pull request stays"
    assert opener.listed(incident)["raise_cpu_limit"]["pull_request"] is None
    assert opener.open(incident)["state"] == "open", "the next attempt is not held up"


def test_a_host_that_is_not_there(opener: Opener, kubernetes_fault: Recording) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    opener.host.close()
    refused = opener.preview(incident, status=424)
    assert refused["type"].endswith(":repository-unreachable")
    assert "cannot connect" in refused["detail"]


def test_private_addresses_are_refused_as_for_webhooks(
    opener: Opener, kubernetes_fault: Recording, settings_override: Any
) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    settings_override(notify_allow_private_targets=False)
    refused = opener.preview(incident, status=424)
    assert "not a public address" in refused["detail"]
    assert opener.host.requests == []
    assert opener.connect(status=422)["detail"].startswith("The URL must start with https://")


def test_a_manifest_that_lacks_it_says_so_and_a_patch_file_is_the_way_out(
    opener: Opener, kubernetes_fault: Recording
) -> None:
    folder = "clusters/prod"
    opener.host.branches["main"] = opener.host.add_commit(
        {PATH: MANIFEST.replace("              cpu:  500m   # raised in June\n", ""),
         f"{folder}/kustomization.yaml": "resources:\n- coredns.yaml # here\n"}, "without"
    )  # fmt: skip
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    refused = opener.preview(incident, status=409)
    assert refused["type"].endswith(":cannot-change-file")
    assert "does not set" in refused["detail"]
    assert "resources.limits.cpu" in refused["detail"]
    assert "Kustomize patch" in refused["what_to_do"]
    shown = opener.preview(incident, form="kustomize_patch")
    assert [(one["path"], one["is_new"]) for one in shown["files"]] == [
        (f"{folder}/jitterscope-deployment-coredns.yaml", True), (f"{folder}/kustomization.yaml", False),
    ]  # fmt: skip
    opened = opener.open(incident, form="kustomize_patch")
    files = opener.host.files(opened["branch"])
    assert "cpu: 2000m" in files[f"{folder}/jitterscope-deployment-coredns.yaml"]
    assert files[f"{folder}/kustomization.yaml"] == (
        "resources:\n- coredns.yaml # here\npatches:\n- path: jitterscope-deployment-coredns.yaml\n"
    )


def test_why_there_can_be_none(github: Opener, kubernetes_fault: Recording, fault: Recording) -> None:
    incident = github.incident(kubernetes_fault)
    listed = github.listed(incident)
    assert not listed["raise_cpu_limit"]["possible"]
    assert listed["raise_cpu_limit"]["needs_repository"]
    assert listed["raise_cpu_limit"]["reason"] == "No repository is set up for deployment/coredns in kube-system."
    refused = github.open(incident, status=409)
    assert refused["type"].endswith(":no-repository")
    github.connect({"workloads": ["cart-*"], "path": PATH, "format": "manifest"})
    assert not github.listed(incident)["raise_cpu_limit"]["possible"]
    github.connect({"workloads": ["kube-system/core*"], "path": PATH, "format": "manifest"})
    assert github.listed(incident)["raise_cpu_limit"] == {
        "fix_id": "raise_cpu_limit", "possible": True, "reason": None, "needs_repository": False,
        "repository": "example/deploy", "path": PATH, "pull_request": None,
    }  # fmt: skip
    cannot = [one for one in listed.values() if one["reason"] == "This fix cannot help here."]
    assert cannot, listed
    assert github.open(incident, cannot[0]["fix_id"], status=409)["type"].endswith(":no-file-holds-it")
    assert github.open(incident, "no_such_fix", status=404)["type"].endswith(":not-found")
    assert github.open(999_999, status=404)["type"].endswith(":not-found")


def test_a_workload_that_kubernetes_does_not_run(github: Opener, fault: Recording) -> None:
    github.connect({"path": PATH, "format": "manifest"})
    one = github.listed(github.incident(fault))["raise_cpu_limit"]
    assert (one["possible"], one["needs_repository"]) == (False, False)
    assert "No manifest" in one["reason"]

"""A fix becomes a pull request in a browser: a repository is set up, the diff viewed, the pull request opened."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest
from playwright.sync_api import Route, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import Look, below_the_bar, settled
from tests.support.git_hosts import REPOSITORY, TOKEN, GitHub

PATH = "clusters/prod/coredns.yaml"
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: coredns
spec:
  template:
    spec:
      containers:
        - name: coredns
          resources:
            limits:
              cpu: 100m # small
"""


@pytest.fixture
def host(product: Product) -> Iterator[GitHub]:
    running = GitHub({PATH: MANIFEST})
    yield running
    running.close()
    with psycopg.connect(product.stack.superuser_url, dbname="jitterscope", autocommit=True) as superuser:
        superuser.execute("DELETE FROM pull_requests")
    with product.client() as client:
        for one in client.get("/api/v1/repositories").json():
            client.delete(f"/api/v1/repositories/{one['id']}").raise_for_status()


def connect(product: Product, host: GitHub) -> None:
    request = {
        "kind": "github", "url": host.url, "repository": REPOSITORY, "token": TOKEN,
        "files": [{"path": PATH, "format": "manifest"}],
    }  # fmt: skip
    with product.client() as client:
        client.post("/api/v1/repositories", json=request).raise_for_status()


def test_a_repository_is_set_up_and_a_pull_request_opened(
    open_window: OpenWindow, product: Product, host: GitHub
) -> None:
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    page.get_by_role("link", name=re.compile("^Set up repository: Raise the CPU limit")).click()
    form = page.get_by_role("form", name="Add repository")
    form.get_by_label("Address").fill(host.url)
    form.get_by_label("Repository").fill(REPOSITORY)
    form.get_by_label("Token").fill(TOKEN)
    form.get_by_label("Path").fill(PATH)
    form.get_by_label("Namespaces").fill("kube-system")
    form.get_by_role("button", name="Add repository").click()
    row = page.get_by_role("list", name="Repositories").get_by_role("listitem").first
    expect(row).to_contain_text("all workloads in kube-system")
    expect(page.get_by_text(f"{REPOSITORY} added").first).to_be_visible()
    row.get_by_role("button", name=f"Test {REPOSITORY}").click()
    expect(page.get_by_text(re.compile("The token reads main at")).first).to_be_visible()
    assert TOKEN not in page.content()
    settled(page)
    assert violations(page) == []
    page.goto(f"/incidents/{product.incident_id}")
    page.get_by_role("button", name=re.compile("^Open pull request: Raise the CPU limit")).click()
    dialog = page.get_by_role("dialog")
    diff = dialog.get_by_role("region", name=PATH)
    expect(diff).to_contain_text("-              cpu: 100m # small")
    expect(diff).to_contain_text(re.compile(r"\+              cpu: \d+m # small"))
    assert violations(page) == []
    dialog.get_by_role("button", name="Open pull request").click()
    expect(dialog).to_be_hidden()
    link = page.get_by_role("link", name=re.compile("^#1 open, pull request: Raise the CPU limit"))
    expect(link).to_have_attribute("href", f"{host.url}/{REPOSITORY}/pull/1")
    expect(page.get_by_text(re.compile(f"#1 in {REPOSITORY}"))).to_be_visible()
    (pull,) = host.pulls
    assert "### Prediction" in pull.body
    settled(page)
    assert violations(page) == []
    with product.client() as client:
        (repository,) = client.get("/api/v1/repositories").json()
        assert repository["open_pull_requests"] == 1


def test_why_not_is_said(open_window: OpenWindow, product: Product, host: GitHub) -> None:
    """For the other incident: first a manifest without it, then a user who may only read."""
    with product.client() as client:
        listed = client.get("/api/v1/incidents").json()["items"]
        incident = next(one["id"] for one in listed if one["subject"]["node"] == "node-2")
    connect(product, host)
    window = open_window()
    page = window.page
    page.goto(f"/incidents/{incident}")
    buttons = page.get_by_role("button", name=re.compile("^Open pull request: "))
    buttons.first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("The file has no deployment/coredns-b")
    dialog.get_by_role("button", name="Use a new Kustomize patch file").click()
    expect(dialog.get_by_role("region", name=re.compile("jitterscope-deployment-coredns-b.yaml"))).to_be_visible()
    expect(dialog).to_contain_text("There is no kustomization.yaml in clusters/prod")
    dialog.get_by_role("button", name="Cancel").click()
    window.complaints.clear()

    def as_viewer(route: Route) -> None:
        response = route.fetch()
        me = response.json()
        me["role"] = "viewer"
        me["scopes"] = [one for one in me["scopes"] if one.endswith(":read") and not one.startswith("repositories:")]
        route.fulfill(response=response, json=me)

    viewer = open_window().page
    viewer.route("**/api/v1/auth/session", as_viewer)
    viewer.goto(f"/incidents/{incident}")
    button = viewer.get_by_role("button", name=re.compile("^Open pull request: ")).first
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description(re.compile("^Your role, viewer, cannot act on incidents. "))
    viewer.goto("/settings/repositories")
    expect(viewer.get_by_text("Your role cannot open this section.")).to_be_visible()


def test_looks(look: Look, product: Product, host: GitHub) -> None:
    page = look.page
    page.goto("/settings/repositories")
    look.at("repositories-none")
    connect(product, host)
    page.goto("/settings/repositories")
    page.get_by_role("button", name=f"Edit {REPOSITORY}").click()
    look.at("repositories")
    page.goto(f"/incidents/{product.incident_id}")
    below_the_bar(page, page.get_by_role("heading", name="What to change"))
    look.at("pull-request-fixes")
    page.get_by_role("button", name=re.compile("^Open pull request: ")).first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("region").first).to_be_visible()
    look.at("pull-request-preview")
    dialog.get_by_text("Text of the pull request").click()
    look.at("pull-request-text")
    dialog.get_by_role("button", name="Open pull request").click()
    expect(dialog).to_be_hidden()
    look.at("pull-request-opened")

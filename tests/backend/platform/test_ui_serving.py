from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from jitterscope.main import create_app
from jitterscope.settings import Settings

SCRIPT = "text/javascript; charset=utf-8"


@pytest.fixture
def site(tmp_path: Path, settings_override: Callable[..., Settings]) -> TestClient:
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text("<title>the page</title>")
    (dist / "assets" / "app-1a2b.js").write_text("script")
    (tmp_path / "secret.txt").write_text("top secret")
    (dist / "link.txt").symlink_to(tmp_path / "secret.txt")
    settings_override(frontend_dist=dist)
    return TestClient(create_app(), raise_server_exceptions=False)


def test_every_page_is_the_application(site: TestClient) -> None:
    for path in ("/", "/incidents/17", "/login?next=%2F"):
        response = site.get(path)
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-cache")
        assert "the page" in response.text


def test_hashed_assets_are_kept_forever_and_missing_ones_are_missing(site: TestClient) -> None:
    assert "immutable" in site.get("/assets/app-1a2b.js").headers["cache-control"]
    assert site.get("/assets/app-old.js").status_code == 404


def test_files_leave_compressed_where_the_build_did_so_and_the_client_takes_it(
    site: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "dist" / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(b"script"))
    for encoding in ("gzip", ""):
        response = site.get("/assets/app-1a2b.js", headers={"Accept-Encoding": encoding})
        assert response.text == "script"
        assert response.headers.get("content-encoding", "") == encoding
        assert (response.headers["content-type"], response.headers["vary"]) == (SCRIPT, "Accept-Encoding")
        assert "immutable" in response.headers["cache-control"]


@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/link.txt", "//etc/passwd", "/%00"],
)
def test_nothing_outside_the_folder_is_served(site: TestClient, path: str) -> None:
    response = site.get(path)
    assert "top secret" not in response.text
    assert "root:" not in response.text
    assert response.status_code in (200, 404)


def test_an_unknown_api_route_is_not_a_page(site: TestClient) -> None:
    assert site.get("/api/v1/unknown").headers["content-type"] == "application/problem+json"

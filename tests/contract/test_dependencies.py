"""What `make lint` says about dependencies, and what `make audit` queries."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from check_dependencies import Dependency, allows, holes, wrong

FINE = Dependency("PyPI", "fine", "1.2", "1.2", "MIT")


@pytest.mark.parametrize(
    "expression", ["MIT", "MPL-2.0 AND (Apache-2.0 OR GPL-3.0-only)", "(GPL-2.0-only OR MIT)", "ISC AND MIT"]
)
def test_licences_that_allow_it(expression: str) -> None:
    assert allows(expression)


@pytest.mark.parametrize("expression", ["", "AGPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT OR ISC) AND SSPL-1.0"])
def test_licences_that_do_not(expression: str) -> None:
    assert not allows(expression)


def test_what_is_wrong() -> None:
    other = Dependency("npm", "other", "2.0.0", "2.0.1", "GPL-3.0-only")
    elsewhere = Dependency("PyPI", "pywin32", "300", None, "")
    lines = wrong([FINE, other, elsewhere])
    assert [line.split(":")[0] for line in lines] == ["other", "other 2.0.0"]


class Osv(BaseHTTPRequestHandler):
    """Answers as https://google.github.io/osv.dev/post-v1-querybatch/ says."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        known = {("PyPI", "holed", "1.0"): {"vulns": [{"id": "GHSA-aaaa", "modified": "2026-01-01T00:00:00Z"}]}}
        results = [
            known.get((one["package"]["ecosystem"], one["package"]["name"], one["version"]), {}) for one in asked
        ]
        body = json.dumps({"results": results}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_known_holes_are_told_of_each_of_many() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Osv)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1/querybatch"
        found = [
            *[FINE] * 700,
            Dependency("PyPI", "holed", "1.0", "1.0", "MIT"),
            Dependency("npm", "holed", "1.0", "1.0", "MIT"),
        ]
        assert holes(found, url) == ["holed 1.0: GHSA-aaaa"]
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(httpx.HTTPError):
        holes([FINE], url)

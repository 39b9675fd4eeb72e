"""From POST /analyses to its report: raw and form uploads, limits, the task, progress, retention, other tenants."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fastapi.testclient import TestClient

from jitterscope import cache
from jitterscope.analyses import folder, run, tasks
from jitterscope.events.publish import channel_of
from jitterscope.settings import Settings, settings
from tests.backend.conftest import Database, Organization
from tests.backend.tenancy.principals import Cast, bearer
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.serving import serving

pytestmark = pytest.mark.slow

LOOP = """\
Wed Oct 11 14:50:59 UTC 2023 Try: 3 DnsmasqProcess: 15
Wed Oct 11 14:51:00 UTC 2023 Try: 4 DnsmasqProcess: 21
Wed Oct 11 14:51:01 UTC 2023 Try: 5 DnsmasqProcess: 21
"""
HEADERS = {"Content-Type": "application/octet-stream"}


def upload(api: TestClient, content: bytes, name: str = "loop.txt") -> dict[str, Any]:
    response = api.post("/api/v1/analyses", params={"name": name}, content=content, headers=HEADERS)
    assert response.status_code == 202, response.text
    body: dict[str, Any] = response.json()
    return body


def read(api: TestClient, id: int) -> dict[str, Any]:
    response = api.get(f"/api/v1/analyses/{id}")
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def test_a_file_from_upload_to_report(api: TestClient, organization: Organization) -> None:
    added = upload(api, LOOP.encode(), "../../etc/C:\\dumps\\loop\x00.txt")
    assert (added["state"], added["name"], added["size_bytes"]) == ("queued", "loop.txt", len(LOOP))
    path = folder.path_of(organization.id, added["id"])
    assert path.read_text() == LOOP
    assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0
    with cache.valkey().pubsub() as events:  # type: ignore[no-untyped-call]
        events.subscribe(channel_of(organization.id))
        tasks.analyse(organization.id, added["id"])
        told: list[dict[str, Any]] = []

        def ended() -> bool:
            if (message := events.get_message(timeout=0.2)) and message["type"] == "message":
                told.append(json.loads(message["data"]))
            return any(event["type"] == "analysis" and event["state"] == "done" for event in told)

        wait_for(ended)
    done = read(api, added["id"])
    assert (done["state"], done["kind"], done["progress_ratio"]) == ("done", "process_count", 1)
    assert {fact["id"]: fact["numbers"] for fact in done["report"]["facts"]}["child_limit"]["at_limit"] == 2
    states = [event["state"] for event in told if event["type"] == "analysis"]
    assert (states[0], states[-1]) == ("running", "done")
    listed = api.get("/api/v1/analyses").json()["items"]
    assert [item["id"] for item in listed] == [added["id"]]
    assert "report" not in listed[0]
    tasks.analyse(organization.id, added["id"])  # a duplicate message changes nothing
    assert read(api, added["id"]) == done


def test_a_form_and_gzip(api: TestClient, organization: Organization) -> None:
    packed = gzip.compress(LOOP.encode())
    response = api.post(
        "/api/v1/analyses", data={"comment": "x" * 1000}, files={"file": ("loop.txt.gz", packed, "application/gzip")}
    )
    assert response.status_code == 202, response.text
    added = response.json()
    assert (added["name"], added["size_bytes"]) == ("loop.txt.gz", len(packed))
    tasks.analyse(organization.id, added["id"])
    assert read(api, added["id"])["kind"] == "process_count"


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/octet-stream", b"", 422),
        ("multipart/form-data", b"whatever", 400),
        ("multipart/form-data; boundary=xx", b"no boundary in here", 400),
        (
            "multipart/form-data; boundary=xx",
            b'--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--xx--',
            400,
        ),
        ("multipart/form-data; boundary=xx", b'--xx\r\nContent-Disposition: form-data; name="file"\r\n\r\nabc', 400),
        ("multipart/form-data; boundary=xx", b"--xx\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\nb\r\n--xx--", 400),
        ("multipart/form-data; boundary=" + "y" * 5000, b"--yy", 400),
    ],
)
def test_hostile_uploads_are_refused(
    api: TestClient, organization: Organization, kind: str, body: bytes, status: int
) -> None:
    response = api.post("/api/v1/analyses", content=body, headers={"Content-Type": kind})
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["what_to_do"]
    assert api.get("/api/v1/analyses").json()["items"] == []
    assert list((settings().evidence_path / "incoming").iterdir()) == []


def test_size_limits(api: TestClient, settings_override: Callable[..., Settings]) -> None:
    settings_override(evidence_max_bytes=2000, evidence_max_kept_bytes=3000)
    declared = api.post("/api/v1/analyses", content=b"x" * 2_000_000, headers=HEADERS)
    assert (declared.status_code, declared.json()["type"]) == (413, "urn:jitterscope:problem:file-too-large")

    def endless() -> Any:
        for _ in range(1000):
            yield b"y" * 1000

    assert api.post("/api/v1/analyses", content=endless(), headers=HEADERS).status_code == 413
    assert api.post("/api/v1/analyses", files={"file": ("x", b"x" * 2500)}).status_code == 413
    upload(api, b"a" * 1800)
    full = api.post("/api/v1/analyses", content=b"a" * 1800, headers=HEADERS)
    assert (full.status_code, full.json()["type"]) == (413, "urn:jitterscope:problem:evidence-full")
    assert list((settings().evidence_path / "incoming").iterdir()) == []


def test_a_form_of_countless_parts_is_refused_at_once(api: TestClient) -> None:
    passed = 0

    def parts() -> Any:
        nonlocal passed
        for _ in range(100):
            passed += 1
            yield b"--b\r\n\r\n\r\n" * 100_000

    answer = api.post("/api/v1/analyses", content=parts(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert answer.status_code == 400, answer.text
    assert "more than 10 parts" in answer.json()["detail"]
    assert list((settings().evidence_path / "incoming").iterdir()) == []


def test_everything_in_a_form_counts(api: TestClient, settings_override: Callable[..., Settings]) -> None:
    settings_override(evidence_max_bytes=2000)

    def comment() -> Any:
        yield b'--b\r\nContent-Disposition: form-data; name="comment"\r\n\r\n'
        for _ in range(100):
            yield b"x" * 10_000

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = api.post("/api/v1/analyses", content=comment(), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:jitterscope:problem:file-too-large")


def test_uploads_under_way_count_and_a_full_organization_sends_nothing(
    api: TestClient, organization: Organization, settings_override: Callable[..., Settings]
) -> None:
    settings_override(evidence_max_kept_bytes=3_000_000)
    under_way = folder.new_incoming(organization.id)
    under_way.write_bytes(bytes(2_000_000))

    def large() -> Any:
        for _ in range(40):
            yield b"y" * 100_000

    for content in (b"y" * 2_000_000, large()):  # with a length, and without
        answer = api.post("/api/v1/analyses", content=content, headers=HEADERS)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:jitterscope:problem:evidence-full")
    under_way.write_bytes(bytes(3_000_000))
    answer = api.post("/api/v1/analyses", content=b"y", headers=HEADERS)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:jitterscope:problem:evidence-full")
    under_way.unlink()
    assert api.post("/api/v1/analyses", content=b"y", headers=HEADERS).status_code == 202


def test_a_hostile_file_becomes_a_problem_and_the_next_one_is_read(api: TestClient, organization: Organization) -> None:
    bad, good = upload(api, os.urandom(50_000), "\u202egnp.exe"), upload(api, LOOP.encode())
    assert bad["name"] == "gnp.exe"
    for one in (bad, good):
        tasks.analyse(organization.id, one["id"])
    failed = read(api, bad["id"])
    assert failed["state"] == "failed"
    assert failed["problem"]["type"] == "unknown-file-kind"
    assert "dnsmasq" in failed["problem"]["what_to_do"]
    assert read(api, good["id"])["state"] == "done"


def test_a_worker_that_died_is_replaced_but_not_for_ever(
    api: TestClient, organization: Organization, database: Database
) -> None:
    added = upload(api, LOOP.encode())
    for attempt in range(1, run.MOST_ATTEMPTS + 1):
        assert run.waiting(organization.id) == [added["id"]]
        assert run._claim(organization.id, added["id"]) is not None  # and then nothing more comes from it
        assert run.waiting(organization.id) == []
        assert run._claim(organization.id, added["id"]) is None, "two workers at one file"
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(
                "UPDATE analyses SET heartbeat_at = now() - interval '1 hour' WHERE id = %s", (added["id"],)
            )
        assert read(api, added["id"])["state"] == "running", attempt
    tasks.analyse(organization.id, added["id"])
    assert read(api, added["id"])["problem"]["type"] == "analysis-failed"
    assert run.waiting(organization.id) == []


def test_a_small_file_that_unpacks_to_much_holds_no_worker_for_long() -> None:
    limits = run.limits_of(2_000_000, settings())
    assert limits.unpacked_bytes == 256 * 1024**2
    assert limits.cpu_s <= 150
    assert run.limits_of(10**9, settings()).unpacked_bytes == settings().evidence_max_unpacked_bytes


def test_one_organization_leaves_workers_to_others(
    api: TestClient, organization: Organization, other_organization: Organization
) -> None:
    mine = [upload(api, LOOP.encode())["id"] for _ in range(3)]
    api.headers.update(other_organization.headers)
    theirs = upload(api, LOOP.encode())["id"]
    assert [run._claim(organization.id, one) is not None for one in mine] == [True, True, False]
    assert run._claim(other_organization.id, theirs) is not None
    assert run.waiting(organization.id) == mine[2:], "it is next"


def test_the_last_place_of_a_worker_is_for_who_has_none(
    api: TestClient, organization: Organization, other_organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = [upload(api, LOOP.encode())["id"] for _ in range(2)]
    api.headers.update(other_organization.headers)
    theirs = upload(api, LOOP.encode())["id"]
    ours = [organization.id, other_organization.id]
    assert run.turns(ours) == [(organization.id, mine[0]), (other_organization.id, theirs)]
    began: list[int] = []
    monkeypatch.setattr(run, "_carry_out", lambda row: began.append(row.id))
    with run._place():  # another file is being read
        run.run(organization.id, mine[0])
        assert run.turns(ours) == [(other_organization.id, theirs), (organization.id, mine[1])], "fewest running first"
        run.run(organization.id, mine[1])
        assert began == [mine[0]]
        run.run(other_organization.id, theirs)
        assert began == [mine[0], theirs]
        with run._place():
            run.run(organization.id, mine[1])
    run.run(organization.id, mine[1])
    assert began == [mine[0], theirs, mine[1]]


def test_deleting_while_it_is_read_ends_the_reader(api: TestClient, organization: Organization) -> None:
    added = upload(api, b"".join(LOOP.encode() for _ in range(400_000)))
    reader = threading.Thread(target=tasks.analyse, args=(organization.id, added["id"]))
    reader.start()
    wait_for(lambda: read(api, added["id"])["progress_ratio"] > 0)
    seen = read(api, added["id"])
    assert (seen["state"], 0 < seen["progress_ratio"] < 1) == ("running", True)
    assert api.delete(f"/api/v1/analyses/{added['id']}").status_code == 204
    reader.join(timeout=PATIENCE_S)
    assert not reader.is_alive()
    assert api.get(f"/api/v1/analyses/{added['id']}").status_code == 404
    assert not folder.path_of(organization.id, added["id"]).exists()


def test_files_go_when_their_time_is_over_and_results_stay(api: TestClient, organization: Organization) -> None:
    added = upload(api, LOOP.encode())
    path = folder.path_of(organization.id, added["id"])
    later = datetime.now(UTC) + timedelta(seconds=settings().evidence_keep_s + 1)
    assert tasks.expire(organization.id, later) == 0, "what nobody has read yet is kept"
    tasks.analyse(organization.id, added["id"])
    assert tasks.expire(organization.id, datetime.now(UTC)) == 0
    assert path.exists()
    assert tasks.expire(organization.id, later) == 1
    assert not path.exists()
    assert (read(api, added["id"])["file_kept"], read(api, added["id"])["state"]) == (False, "done")
    orphan = path.with_name("999999999")
    orphan.write_text("left")
    os.utime(orphan, (time.time() - 7200, time.time() - 7200))
    assert tasks.expire(organization.id, later) == 1
    assert not orphan.exists()


def test_a_worker_that_does_not_see_the_file_says_so(api: TestClient, organization: Organization) -> None:
    added = upload(api, LOOP.encode())
    folder.remove(organization.id, added["id"])
    tasks.analyse(organization.id, added["id"])
    assert read(api, added["id"])["problem"]["type"] == "file-not-here"


def test_another_organization_sees_nothing(
    api: TestClient, organization: Organization, other_organization: Organization
) -> None:
    added = upload(api, LOOP.encode())
    headers = other_organization.headers
    assert api.get("/api/v1/analyses", headers=headers).json()["items"] == []
    assert api.get(f"/api/v1/analyses/{added['id']}", headers=headers).status_code == 404
    assert api.delete(f"/api/v1/analyses/{added['id']}", headers=headers).status_code == 404
    tasks.analyse(other_organization.id, added["id"])
    assert read(api, added["id"])["state"] == "queued"
    assert folder.path_of(organization.id, added["id"]).is_file()


def test_a_load_test_is_kept_and_charted(api: TestClient) -> None:
    runs = [
        {"target": target, "rate_qps": rate, "seconds": 10, "sent": rate * 10,
         "answered": rate * 10 - lost, "lost": lost,
         "p50_us": 500, "p99_us": 900 + rate, "max_us": 2e6}
        for target, rate, lost in (("service", 100, 0), ("service", 1000, 0), ("pod", 100, 0), ("pod", 1000, 600))
    ]  # fmt: skip
    targets = [{"name": "service", "address": "127.0.0.1", "port": 53}, {"name": "pod", "address": "::1", "port": 54}]
    body = {
        "name": "before", "sender": "dnsperf 2.10.0", "started_us": 1_763_700_000_000_000, "timeout_ms": 2000,
        "names": 3, "targets": targets, "runs": runs,
    }  # fmt: skip
    response = api.post("/api/v1/analyses/dns-bench", json=body)
    assert response.status_code == 201, response.text
    kept = response.json()
    assert (kept["kind"], kept["state"], kept["file_kept"]) == ("dns_bench", "done", False)
    charts = {chart["id"]: chart for chart in kept["report"]["charts"]}
    assert charts["p99"]["x"] == [100, 1000]
    assert {line["name"]: line["values"] for line in charts["p99"]["lines"]} == {
        "service": [1000, 1900],
        "pod": [1000, 1900],
    }
    assert {line["name"]: line["values"] for line in charts["loss"]["lines"]} == {"service": [0, 0], "pod": [0, 6]}
    facts = {fact["id"]: fact for fact in kept["report"]["facts"]}
    assert facts["target_service"]["numbers"] == {"kept_up_qps": 1000}
    assert facts["target_pod"]["numbers"] == {"kept_up_qps": 100, "failed_from_qps": 1000}
    assert read(api, kept["id"])["report"] == kept["report"]
    assert api.post("/api/v1/analyses/dns-bench", json=body | {"targets": targets[:1]}).status_code == 422


def test_a_file_whose_sender_was_removed_meanwhile_is_not_kept(
    client: TestClient, database: Database, organization: Organization
) -> None:
    cast = Cast(database, organization)
    sender = cast.member("editor")
    headers = HEADERS | bearer(cast.token(sender, "analyses:write"))

    def content() -> Iterator[bytes]:
        yield LOOP.encode()
        cast.administer("DELETE FROM memberships WHERE user_id = %s", sender)
        yield LOOP.encode()

    with serving() as url:
        answer = httpx.post(f"{url}/api/v1/analyses", content=content(), headers=headers, timeout=60)
    assert answer.status_code == 401
    assert client.get("/api/v1/analyses", headers=organization.headers).json()["items"] == []
    assert not [path for path in settings().evidence_path.rglob("*") if path.is_file() and "incoming" in str(path)]


def test_a_service_without_an_evidence_folder_says_so(
    api: TestClient, settings_override: Callable[..., Settings], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    settings_override(evidence_folder=tmp_path / "file" / "evidence")
    response = api.post("/api/v1/analyses", content=b"x", headers=HEADERS)
    assert (response.status_code, response.json()["type"]) == (503, "urn:jitterscope:problem:no-evidence-folder")
    assert "JITTERSCOPE_EVIDENCE_FOLDER" in response.json()["what_to_do"]

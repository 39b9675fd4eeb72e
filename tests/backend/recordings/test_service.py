"""Recording from a running service and replaying into one, by command and by REST."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard
from sqlalchemy import text
from typer.testing import CliRunner

from jitterscope.cli import app
from jitterscope.db import organization_session
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.incidents.scheduling.diagnoses import diagnose_subject
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from jitterscope.recordings.replay import Replayed, ReplayFailed, replay, replay_nodes
from jitterscope.recordings.snapshots import recording_of
from tests.support.serving import serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fault() -> Recording:
    return recording_of(simulate(Workload(seconds=30.0)).snapshot, {"lab": "simulated"})


@pytest.fixture
def url(client: Any) -> Iterator[str]:
    """The application behind uvicorn."""
    with serving() as url:
        yield url


def subject_of(organization: Any) -> int:
    with organization_session(organization.id) as session:
        return int(session.execute(text("SELECT max(id) FROM resources WHERE kind = 'cgroup'")).scalar_one())


def test_there_and_back_again(url: str, organization: Any, fault: Recording, tmp_path: Path) -> None:
    """File → service → incident → file: the second file holds the same data, shifted in time."""
    path = tmp_path / "fault.jitterscope"
    file.save(fault, path)
    (tmp_path / "token").write_text(organization.ingest_token + "\n")
    result = CliRunner().invoke(
        app, ["replay", str(path), "--to-service", url, "--token-file", str(tmp_path / "token"), "--speed", "0"]
    )
    assert result.exit_code == 0, result.output
    subject_id = subject_of(organization)
    outcome = diagnose_subject(organization.id, subject_id)
    assert outcome is not None
    assert outcome.causes == ["cpu/gc_throttling"]
    assert len(outcome.changed_incidents) == 1
    copy = tmp_path / "copy.jitterscope"
    (tmp_path / "api").write_text(organization.api_token)
    arguments = ["record", "--resource", str(subject_id), "--from", "-10m", "--service", url, "-o", str(copy)]
    result = CliRunner().invoke(app, [*arguments, "--token-file", str(tmp_path / "api")])
    assert result.exit_code == 0, result.output
    recorded = file.load(copy)
    sent, stored = fault.resources[fault.subject], recorded.resources[recorded.subject]
    assert stored.key == sent.key
    for name, values in sent.series.items():
        kept = stored.series[name]
        assert kept[kept == kept].tolist() == values[values == values].tolist(), name
    result = CliRunner().invoke(app, ["replay", str(copy), "--engine"])
    assert [found["cause"] for found in json.loads(result.stdout)["findings"]] == ["cpu/gc_throttling"]


def test_at_twice_the_pace(url: str, organization: Any, fault: Recording) -> None:
    slept: list[float] = []
    began_us = time.time_ns() // 1000
    done = replay(fault, url, organization.ingest_token, speed=2.0, sleep=slept.append)
    assert done.batches == 15
    ended_us = time.time_ns() // 1000
    # There was no waiting, so the end lies half the length ahead of the start. The grid has steps of 0.1 s.
    assert began_us - 100_000 <= done.to_us - 15_000_000 <= ended_us + 100_000
    assert 15.0 - (ended_us - began_us) / 1e6 - 0.1 <= slept[-1] <= 15.1


def test_what_the_service_refuses_is_told(url: str, fault: Recording) -> None:
    with pytest.raises(ReplayFailed, match="HTTP 401"):
        replay(fault, url, "jsi_wrong", speed=0)


def test_recording_over_rest(api: Any, organization: Any, fault: Recording, other_organization: Any) -> None:
    from jitterscope.recordings.replay import prepare

    shift_us = (time.time_ns() // 1000 - fault.end_us) // 100_000 * 100_000
    for batch in prepare(fault, shift_us, ""):
        content = zstandard.compress(batch.SerializeToString())
        assert api.post("/api/v1/ingest", content=content, headers=organization.ingest_headers).status_code < 300
    subject_id = subject_of(organization)
    window = {"from": fault.start_us + shift_us, "to": fault.end_us + shift_us}
    response = api.get("/api/v1/recordings", params={"resource": subject_id, **window})
    assert response.status_code == 200, response.text
    recording = file.read(io.BytesIO(response.content))
    assert (recording.ticks, len(recording.resources)) == (fault.ticks, len(fault.resources))
    refused = api.get(
        "/api/v1/recordings", params={"resource": subject_id, **window}, headers=other_organization.headers
    )
    assert refused.status_code == 404
    for wrong in ({"from": "x"}, {"from": window["to"] + 1}, {"from": 0}):
        assert api.get("/api/v1/recordings", params={"resource": subject_id, **window, **wrong}).status_code == 422


def test_a_recording_in_pieces_is_the_recording_in_one(api: Any, organization: Any, monkeypatch: Any) -> None:
    from jitterscope.recordings import capture, stream
    from jitterscope.recordings.replay import prepare

    long = recording_of(simulate(Workload(seconds=100.0)).snapshot, {})
    shift_us = (time.time_ns() // 1000 - long.end_us) // 100_000 * 100_000
    for batch in prepare(long, shift_us, ""):
        content = zstandard.compress(batch.SerializeToString())
        assert api.post("/api/v1/ingest", content=content, headers=organization.ingest_headers).status_code < 300
    monkeypatch.setattr(stream, "_PIECE_BYTES", 1)
    read: list[int] = []

    def part(*given: Any) -> Recording:
        read.append(given[2])
        return capture.part(*given)

    monkeypatch.setattr(stream, "part", part)
    subject_id = subject_of(organization)
    window = (long.start_us + shift_us, long.end_us + shift_us)
    with organization_session(organization.id) as session:
        whole = capture.capture(session, [subject_id], *window)
    answer = api.get("/api/v1/recordings", params={"resource": subject_id, "from": window[0], "to": window[1]})
    assert len(read) == 4
    one, many = io.BytesIO(), io.BytesIO()
    file.write(whole, one)
    file.write(file.read(io.BytesIO(answer.content)), many)
    assert one.getvalue() == many.getvalue()


def test_the_commands_explain_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    runner = CliRunner()
    for arguments, message in (
        (["replay", str(tmp_path / "text"), "--engine"], "not a recording"),
        (["replay", str(tmp_path / "none"), "--engine"], "No such file"),
        (["record", "--resource", "1", "-o", str(tmp_path / "o"), "--from", "soon"], "RFC 3339"),
    ):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 1
        assert message in result.output


def test_recordings_as_several_nodes_again_and_again(url: str, organization: Any, fault: Recording) -> None:
    done: list[Replayed] = []

    def tell(one: Replayed) -> None:
        done.append(one)
        if len(done) == 5:
            raise ReplayFailed("enough")

    nodes = {"-a": fault, "-b": fault}
    with pytest.raises(ReplayFailed, match="enough"):
        replay_nodes(nodes, url, organization.ingest_token, speed=0, loop=True, tell=tell)
    assert {one.node_key for one in done} == {fault.resources[0].key + suffix for suffix in nodes}
    assert len(done) > len(nodes), "again and again"
    done.clear()
    replay_nodes(nodes, url, organization.ingest_token, speed=0, tell=tell)
    assert len(done) == 2


def test_a_recording_ends_with_the_access_of_who_records(
    client: Any, organization: Any, fault: Recording, monkeypatch: Any
) -> None:
    """The token is revoked while the file is on its way."""
    from jitterscope.recordings import capture, stream
    from jitterscope.recordings.replay import prepare

    shift_us = (time.time_ns() // 1000 - fault.end_us) // 100_000 * 100_000
    read: list[int] = []

    def part(*given: Any) -> Recording:
        read.append(given[2])
        with organization_session(organization.id) as session:
            session.execute(text("UPDATE tokens SET revoked_at = now() WHERE kind = 'api'"))
        return capture.part(*given)

    monkeypatch.setattr(file, "SLICE_US", 1_000_000)
    monkeypatch.setattr(stream, "_PIECE_BYTES", 1)
    with serving() as url:
        for batch in prepare(fault, shift_us, ""):
            content = zstandard.compress(batch.SerializeToString())
            headers = organization.ingest_headers
            assert httpx.post(f"{url}/api/v1/ingest", content=content, headers=headers, timeout=60).status_code < 300
        window = {"from": fault.start_us + shift_us, "to": fault.end_us + shift_us}
        query = {"resource": subject_of(organization), **window}
        monkeypatch.setattr(stream, "part", part)
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{url}/api/v1/recordings", params=query, headers=organization.headers, timeout=60)
    assert len(read) == 1

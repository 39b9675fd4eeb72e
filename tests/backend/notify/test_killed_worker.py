"""A worker that is killed at any stage of a delivery: nothing is sent twice, nothing is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jitterscope.notify import courier, journal
from jitterscope.notify.delivery import claim, journal_folder
from jitterscope.notify.kind import HttpRequest
from jitterscope.notify.wire import Post
from tests.support.patience import wait_for

pytestmark = pytest.mark.slow

SECRET = "0123456789abcdef"


@pytest.fixture
def webhook(outbox: Any, receiver: Any) -> int:
    return int(outbox.add_channel("webhook", {"url": receiver.url, "secret": SECRET}))


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the worker and its whole process group, as a supervisor does."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_killed_while_the_receiver_thinks(outbox: Any, receiver: Any, webhook: int) -> None:
    receiver.default.delay_s = 1.5
    outbox.queue()
    worker = outbox.worker_process()
    assert receiver.arrived.wait(20)
    kill(worker)
    assert outbox.states() == ["sending"]
    # The next worker waits for the courier's result instead of sending again.
    assert outbox.deliver() == 0
    assert outbox.states() == ["sending"]
    wait_for(lambda: _settled(outbox))
    assert len(receiver.requests) == 1
    [row] = outbox.rows()
    assert (row.state, row.attempts, row.maybe_sent) == ("sent", 1, False)
    assert not list(journal_folder().glob("*.1")), "the journal is cleaned up"


def test_killed_while_the_receiver_fails(outbox: Any, receiver: Any, webhook: int) -> None:
    receiver.answers = [type(receiver.default)(status=503, delay_s=1.0)]
    outbox.queue()
    worker = outbox.worker_process()
    assert receiver.arrived.wait(20)
    kill(worker)

    def sent() -> bool:
        outbox.make_due()
        return _settled(outbox)

    wait_for(sent)
    assert len(receiver.requests) == 2, "the failure was known, so the second try was right"
    assert len({request.headers["idempotency-key"] for request in receiver.requests}) == 1


def test_killed_between_claim_and_courier(outbox: Any, receiver: Any, webhook: int) -> None:
    outbox.queue()
    [attempt] = claim(outbox.organization_id)
    assert outbox.states() == ["sending"]
    assert outbox.deliver() == 0, "its worker is alive: the journal is locked"
    os.close(attempt.descriptor)  # what the kernel does for a killed process
    assert outbox.deliver() == 1
    assert outbox.states() == ["sent"]
    assert len(receiver.requests) == 1
    assert outbox.rows()[0].maybe_sent is False


def test_killed_before_the_claim_is_committed(outbox: Any, receiver: Any, webhook: int) -> None:
    outbox.queue()
    [row] = outbox.rows()
    folder = journal_folder()
    journal.journal_id(folder)
    os.close(journal.create(folder, f"{row.key}.1"))  # the file is there, the row is still pending
    assert outbox.deliver() == 1
    assert len(receiver.requests) == 1
    assert outbox.states() == ["sent"]


def test_killed_after_the_answer_and_before_the_commit(outbox: Any, receiver: Any, webhook: int) -> None:
    outbox.queue()
    [attempt] = claim(outbox.organization_id)
    request = attempt.kind.build(attempt.config, attempt.message)
    assert isinstance(request, HttpRequest)
    courier.carry(attempt.descriptor, Post(request.url, request.headers, request.body, allow_private=True))
    os.close(attempt.descriptor)
    assert outbox.deliver() == 0
    assert outbox.states() == ["sent"]
    assert len(receiver.requests) == 1


def test_a_courier_killed_on_the_wire_leaves_an_unknown_fate(outbox: Any, receiver: Any, webhook: int) -> None:
    """The one undecidable case: it is sent again, with the same key, and the row says so."""
    outbox.queue()
    [attempt] = claim(outbox.organization_id)
    journal.note_writing(attempt.descriptor)
    os.close(attempt.descriptor)
    assert outbox.deliver() == 0
    [row] = outbox.rows()
    assert (row.state, row.maybe_sent) == ("pending", True)
    outbox.make_due()
    outbox.deliver()
    [request] = receiver.requests
    assert request.headers["idempotency-key"] == row.key
    assert outbox.states() == ["sent"]


def test_another_hosts_attempt_is_left_alone_until_its_lease_ends(outbox: Any, receiver: Any, webhook: int) -> None:
    outbox.queue()
    [attempt] = claim(outbox.organization_id)
    os.close(attempt.descriptor)
    outbox.change(journal_id="another host")
    assert outbox.deliver() == 0
    assert outbox.states() == ["sending"]
    outbox.change(claimed_at=datetime.now(UTC) - timedelta(minutes=5))
    outbox.deliver()
    [row] = outbox.rows()
    assert (row.state, row.maybe_sent) == ("pending", True)


def test_workers_killed_again_and_again_send_everything_once(outbox: Any, receiver: Any, webhook: int) -> None:
    receiver.default.delay_s = 0.05
    transitions = {outbox.queue(incident_id=number) for number in range(20)}
    interrupted = 0
    # Killed around their first, third, … request, plus some ms: while claiming, sending, waiting, and settling.
    for requests, later_s in ((1, 0.0), (1, 0.06), (3, 0.02), (6, 0.0), (8, 0.05), (2, 0.1), (5, 0.0), (30, 0.0)):
        before = len(receiver.requests)
        worker = outbox.worker_process()
        while worker.poll() is None and len(receiver.requests) < before + requests:
            time.sleep(0.002)
        time.sleep(later_s)
        kill(worker)
        interrupted += "sending" in outbox.states()
        outbox.make_due()
    wait_for(lambda: _settled(outbox))
    assert {request.json["transition"]["id"] for request in receiver.requests} == transitions
    assert len(receiver.requests) == 20, "no request twice"
    assert interrupted >= 2, "the kills came too early or too late to test anything"


def test_the_journal_tells_every_fate(tmp_path: Path) -> None:
    journal.journal_id(tmp_path)
    descriptor = journal.create(tmp_path, "k.1")
    assert journal.read(tmp_path, "k.1").fate == "under_way"
    with pytest.raises(FileExistsError):
        journal.create(tmp_path, "k.1")
    os.close(descriptor)
    assert journal.read(tmp_path, "k.1").fate == "not_sent"
    with (tmp_path / "k.1").open("ab") as file:
        file.write(b'writing\nanswer {"status": 2')  # torn by a power cut
    assert journal.read(tmp_path, "k.1").fate == "unknown"
    assert journal.read(tmp_path, "none").fate == "missing"
    assert journal.journal_id(tmp_path) == journal.journal_id(tmp_path)


def test_one_deliverer_a_host(tmp_path: Path) -> None:
    names = ("deliver-1", "deliver-1", "deliver-2")
    with contextlib.ExitStack() as stack:
        inside = [stack.enter_context(journal.alone(tmp_path, name)) for name in names]
        assert inside == [True, False, True]
    with journal.alone(tmp_path, "deliver-1") as again:
        assert again


def test_the_courier_runs_without_site_packages() -> None:
    """This makes it start fast, and keeps it alive while the environment is being replaced."""
    script = Path(courier.__file__)
    code = f"import runpy; runpy.run_path({str(script)!r}); import sys; print('pydantic' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False,
        cwd="/", env={"PYTHONPATH": str(script.parents[2])},
    )  # fmt: skip
    assert (result.stdout.strip(), result.returncode) == ("False", 0), result.stderr


def _settled(outbox: Any) -> bool:
    outbox.deliver()
    return set(outbox.states()) == {"sent"}

"""`make up` as a user sees it: the stack starts, heals, stops, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from jitterscope.devstack.ports import free_port
from jitterscope.devstack.stack import COLLECTOR, Stack
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="jitterscope-stack-") as name:
        yield Path(name) / "state with a space"


@pytest.fixture(scope="module")
def stack(folder: Path) -> Iterator[Stack]:
    with Stack(folder, collector=False, durable=False, owner_pid=os.getpid()) as running:
        yield running


def wait_for(what: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if what():
                return
        except (httpx.HTTPError, OSError, KeyError):
            pass
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def ready(stack: Stack) -> bool:
    return httpx.get(f"{stack.url}/readyz", timeout=5).status_code == 200


def processes_of(folder: Path) -> list[psutil.Process]:
    """Every process with the folder on its command line, in its environment, or as its working folder."""
    found = []
    for process in psutil.process_iter():
        try:
            text = " ".join([*process.cmdline(), process.environ().get("JITTERSCOPE_STATE_DIR", ""), process.cwd()])
        except psutil.Error:
            continue
        if str(folder) in text and process.pid != os.getpid():
            found.append(process)
    return found


def test_signing_in_with_the_first_login(stack: Stack) -> None:
    email, password = stack.admin
    response = httpx.post(f"{stack.url}/api/v1/auth/login", json={"email": email, "password": password}, timeout=60)
    assert response.status_code == 200
    assert response.json()["role"] == "admin"


def test_starting_again_changes_nothing(stack: Stack, folder: Path) -> None:
    before = stack.pids()
    again = Stack(folder, collector=False).start()
    assert again.url == stack.url
    assert again.organization_id == stack.organization_id > 0
    assert stack.pids() == before


def test_secrets_are_for_their_owner_only(stack: Stack, folder: Path) -> None:
    secrets = [stack.admin[1], stack.secret_key, stack.valkey_url.split(":")[2].split("@")[0]]
    for path in folder.iterdir():
        if path.is_file() and any(secret in path.read_text(errors="replace") for secret in secrets):
            assert path.stat().st_mode & 0o077 == 0, path
    for process in processes_of(folder):
        assert not any(secret in " ".join(process.cmdline()) for secret in secrets), process


@pytest.mark.parametrize("program", ["postgres", "valkey", "api", "worker", "beat"])
def test_whatever_is_killed_comes_back(stack: Stack, program: str) -> None:
    pid = stack.pids()[program]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: stack.pids()[program] != pid and ready(stack))
    assert httpx.get(f"{stack.url}/api/v1/me", timeout=60).status_code == 401  # the database answers queries again


def test_postgres_comes_back_after_a_reboot_gave_its_number_away(stack: Stack) -> None:
    pid = stack.pids()["postgres"]
    pid_file = stack.postgres_data / "postmaster.pid"
    lines = pid_file.read_text().split("\n")
    os.kill(pid, signal.SIGSTOP)  # so that supervisord's new one does not come before the file is changed
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))  # alive, but not PostgreSQL
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: stack.pids()["postgres"] != pid and ready(stack))


@pytest.fixture
def api(stack: Stack) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {stack.create_api_token()}"}
    with httpx.Client(base_url=f"{stack.url}/api/v1", headers=headers, timeout=60) as client:
        yield client


def test_the_one_line_install_brings_data(stack: Stack, api: httpx.Client, tmp_path: Path) -> None:
    assert COLLECTOR.exists(), "run `make build-collector` first"
    made = api.post("/collectors/tokens", json={"name": "another machine"}).json()
    command = made["install_command"].replace("sudo env", f"env JITTERSCOPE_PREFIX={tmp_path}")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    collector = psutil.Process(int((tmp_path / "var/lib/jitterscope-collector/collector.pid").read_text()))
    try:
        assert made["secret"] not in " ".join(collector.cmdline())
        wait_for(lambda: api.get("/collectors").json()["items"])
        wait_for(lambda: api.get("/resources", params={"kind": "cgroup"}).json()["items"])
    finally:
        collector.terminate()
        psutil.wait_procs([collector], timeout=10)
    without_token = command.replace("JITTERSCOPE_TOKEN=", "OTHER=")
    refused = subprocess.run(["sh", "-c", without_token], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "JITTERSCOPE_TOKEN is not set" in refused.stderr


def test_stopping_leaves_no_process_and_starting_again_keeps_the_data(stack: Stack, folder: Path) -> None:
    token = stack.create_api_token()
    stack.stop()
    assert processes_of(folder) == []
    assert not stack.state.supervisor_socket.exists()
    stack.start()
    answer = httpx.get(f"{stack.url}/api/v1/me", headers={"Authorization": f"Bearer {token}"}, timeout=60)
    assert answer.status_code == 200


def test_a_port_that_was_taken_meanwhile_is_replaced(stack: Stack) -> None:
    stack.stop()
    taken = int(stack.url.rpartition(":")[2])
    holder = subprocess.Popen([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(taken)])
    try:
        wait_for(lambda: httpx.get(f"http://127.0.0.1:{taken}", timeout=60).status_code == 200)
        stack.start()
        assert not stack.url.endswith(f":{taken}")
        assert ready(stack)
    finally:
        holder.terminate()
        holder.wait()


def test_the_stack_ends_with_the_process_that_started_it() -> None:
    with tempfile.TemporaryDirectory(prefix="jitterscope-orphan-") as name:
        script = (
            "import os, time; from pathlib import Path; from jitterscope.devstack.stack import Stack\n"
            f"stack = Stack(Path({name!r}), port={free_port()}, collector=False, owner_pid=os.getpid())\n"
            "stack.start()\n"
            "print('up', flush=True); time.sleep(600)"
        )
        starter = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        family = processes_of(Path(name))
        assert len(family) >= 6
        starter.kill()
        starter.wait()
        starter.stdout.close()
        _, alive = psutil.wait_procs(family, timeout=PATIENCE_S)
        assert alive == []

"""The installer makes the unit that packages ship, and what that unit expects."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from jitterscope.settings import REPOSITORY

UNIT = REPOSITORY / "collector" / "systemd" / "jitterscope-collector.service"
_WITH_SYSTEMD = '[ -z "$prefix" ] && [ -d /run/systemd/system ]'
_CURL = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho binary >"$2"\n'
_SYSTEMCTL = '#!/bin/sh\n[ "$1" = --version ] && echo "systemd VERSION (VERSION-1)" && exit\necho "$*" >>"$0.calls"\n'


def install(script: str, folder: Path, systemd: int, server: str = "https://jitterscope.example") -> list[str]:
    """Run the script as on a machine with systemd, below a folder; returns the calls of systemctl."""
    assert _WITH_SYSTEMD in script
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, text in (("curl", _CURL), ("systemctl", _SYSTEMCTL.replace("VERSION", str(systemd)))):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    given = {"JITTERSCOPE_PREFIX": str(folder), "JITTERSCOPE_SERVER": server, "JITTERSCOPE_TOKEN": "jsi_secret"}
    environment = {**os.environ, **given, "PATH": f"{programs}:{os.environ['PATH']}"}
    command = script.replace(_WITH_SYSTEMD, "true")
    done = subprocess.run(["sh"], input=command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (programs / "systemctl.calls").read_text().splitlines()


@pytest.fixture
def script(client: TestClient) -> str:
    answer = client.get("/api/v1/collectors/install.sh")
    assert answer.status_code == 200
    return answer.text


def test_the_unit_is_the_one_that_is_shipped(script: str, tmp_path: Path) -> None:
    calls = install(script, tmp_path, 255)
    assert calls == ["daemon-reload", "enable --quiet jitterscope-collector", "restart jitterscope-collector"]
    units = tmp_path / "etc/systemd/system"
    assert (units / "jitterscope-collector.service").read_text() == UNIT.read_text()
    added = (units / "jitterscope-collector.service.d/installed.conf").read_text()
    assert added == '[Service]\nEnvironment="JITTERSCOPE_SERVER=https://jitterscope.example"\n'


def test_what_the_unit_expects_is_there(script: str, tmp_path: Path) -> None:
    install(script, tmp_path, 255)
    unit = UNIT.read_text()
    for path in ("usr/local/bin/jitterscope-collector", "etc/jitterscope/collector.toml", "etc/jitterscope/token"):
        assert f"/{path}" in unit
        assert (tmp_path / path).is_file()
    token = tmp_path / "etc/jitterscope/token"
    assert (token.read_text(), token.stat().st_mode & 0o777) == ("jsi_secret\n", 0o600)
    assert "StateDirectory=jitterscope-collector" in unit
    assert (tmp_path / "var/lib/jitterscope-collector").is_dir()


def test_installing_again_keeps_the_options(script: str, tmp_path: Path) -> None:
    install(script, tmp_path, 255)
    config = tmp_path / "etc/jitterscope/collector.toml"
    config.write_text("max_cgroups = 500\n")
    (tmp_path / "etc/jitterscope/collector.token").write_text("of an earlier version\n")
    install(script, tmp_path, 255, server='https://other.example/a%20"b')
    assert config.read_text() == "max_cgroups = 500\n"
    assert not (tmp_path / "etc/jitterscope/collector.token").exists()
    added = tmp_path / "etc/systemd/system/jitterscope-collector.service.d/installed.conf"
    assert added.read_text() == '[Service]\nEnvironment="JITTERSCOPE_SERVER=https://other.example/a%%20\\"b"\n'


def test_before_credentials_the_token_is_read_from_its_file(script: str, tmp_path: Path) -> None:
    install(script, tmp_path, 239)
    added = (tmp_path / "etc/systemd/system/jitterscope-collector.service.d/installed.conf").read_text().splitlines()
    assert added[-2:] == [
        "ExecStart=",
        f"ExecStart={tmp_path}/usr/local/bin/jitterscope-collector run "
        f"--config {tmp_path}/etc/jitterscope/collector.toml --token-file {tmp_path}/etc/jitterscope/token",
    ]


def test_the_image_has_the_unit() -> None:
    assert "\nCOPY collector/systemd /app/collector/systemd\n" in (REPOSITORY / "Dockerfile").read_text()

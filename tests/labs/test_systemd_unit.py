"""The unit as "Add collector" installs it, started by a real systemd."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from labs.hosting import product_for_others
from labs.product import Product
from labs.systemd import machine
from labs.systemd.machine import Machine
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root"),
    pytest.mark.timeout(900),
]
LIVE = live(90, cpus=0.0, together="the systemd unit", by_turn=False)
UNIT = "jitterscope-collector"
PATIENCE_S = 60.0
SETTLES_S = 12.0
# Resets everything in the unit that keeps the service from something.
FREE = """[Service]
CapabilityBoundingSet=~
NoNewPrivileges=no
ProtectSystem=no
ProtectHome=no
PrivateTmp=no
ProtectClock=no
ProtectHostname=no
ProtectKernelModules=no
LockPersonality=no
RestrictSUIDSGID=no
RestrictAddressFamilies=
SystemCallArchitectures=
DeviceAllow=
MemoryMax=infinity
"""


@dataclass(frozen=True, slots=True)
class Installed:
    machine: Machine
    product: Product
    said: str

    def show(self, name: str) -> str:
        return self.machine.run(f"systemctl show --property={name} --value {UNIT}").strip()

    def batches(self) -> int:
        return sum(int(one["batches"]) for one in self.product.collectors().values())

    def delivers(self) -> None:
        """Wait for further batches."""
        before = self.batches()
        self.product.wait_for("further batches", lambda: self.batches() > before + 2, PATIENCE_S)

    def sources(self) -> dict[str, str]:
        """The state of each source and what it lacks, once none has changed for a while."""
        states, since = self._states(), time.monotonic()
        while time.monotonic() - since < SETTLES_S:
            time.sleep(0.5)
            if (now := self._states()) != states:
                states, since = now, time.monotonic()
        return states

    def _states(self) -> dict[str, str]:
        [collector] = self.product.collectors().values()
        return {one["name"]: f"{one['state']}: {one['detail']}" for one in collector["sources"]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("machine")
    with product_for_others(say, {}) as (product, token), machine.running(folder, say) as booted:
        booted.run("mknod /dev/kmsg c 1 11")  # after the boot: its journal leaves the log of this machine alone
        said = booted.run(product.setup("linux").replace("INGEST_TOKEN", token))
        product.wait_for("the collector", product.receives, PATIENCE_S)
        yield Installed(booted, product, said)


@LIVE
def test_the_service_runs_and_sends(installed: Installed) -> None:
    assert "jitterscope: running; see journalctl" in installed.said
    assert installed.machine.run(f"systemctl is-active {UNIT}") == "active\n"
    assert installed.machine.run(f"systemctl is-enabled {UNIT}") == "enabled\n"
    [collector] = installed.product.collectors().values()
    assert collector["node"]["name"] == machine.HOSTNAME
    installed.delivers()


@LIVE
def test_systemd_finds_no_fault_with_the_unit(installed: Installed) -> None:
    done = installed.machine.attempt(f"systemd-analyze verify /etc/systemd/system/{UNIT}.service")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # The control: it does find one.
    wrong = "sed 's/^Restart=always/Restart=allways/' /etc/systemd/system/jitterscope-collector.service"
    installed.machine.run(f"{wrong} > /tmp/wrong.service")
    assert "allways" in installed.machine.attempt("systemd-analyze verify /tmp/wrong.service").stderr


@LIVE
def test_a_killed_service_is_started_again(installed: Installed) -> None:
    before, restarts = installed.show("MainPID"), int(installed.show("NRestarts"))
    installed.machine.run(f"kill -KILL {before}")

    def again() -> bool:
        return installed.show("ActiveState") == "active" and installed.show("MainPID") not in ("0", before)

    installed.product.wait_for("the service again", again, PATIENCE_S)
    assert int(installed.show("NRestarts")) == restarts + 1
    installed.delivers()
    [collector] = installed.product.collectors().values()
    assert collector["dropped_batches"] == 0


@LIVE
def test_the_sandbox_stops_no_source(installed: Installed) -> None:
    confined = installed.sources()
    drop_in = f"/etc/systemd/system/{UNIT}.service.d/free.conf"
    installed.machine.run(f"cat > {drop_in} <<'END'\n{FREE}END\nsystemctl daemon-reload\nsystemctl restart {UNIT}")
    installed.delivers()
    assert (installed.show("ProtectSystem"), installed.show("NoNewPrivileges")) == ("no", "no")
    free = installed.sources()
    say(f"{confined}\n{free}")
    assert confined == free
    assert confined["cgroup_cpu"] == "active: "
    installed.machine.run(f"rm {drop_in}\nsystemctl daemon-reload\nsystemctl restart {UNIT}")
    installed.delivers()


@LIVE
def test_the_kernels_log_is_read_as_it_grows(installed: Installed) -> None:
    """Without the device it is read after a kill was counted, and who dropped caches is not seen at all."""
    opened = installed.machine.run(f"ls -l /proc/{installed.show('MainPID')}/fd")
    assert "/dev/kmsg" in opened, opened
    # With systemd 247 of Debian 11, ProtectClock= alone closes it.
    assert "/dev/kmsg r" in installed.show("DeviceAllow").splitlines()


@LIVE
def test_what_the_sandbox_forbids(installed: Installed) -> None:
    """The control of the test above: the unit is confined."""
    pid = installed.show("MainPID")
    inside = f"nsenter --target={pid} --mount"
    assert installed.machine.attempt(f"{inside} touch /usr/local/bin/x").returncode != 0
    assert installed.machine.attempt("touch /usr/local/bin/x").returncode == 0
    installed.machine.run(f"{inside} touch /var/lib/{UNIT}/x")
    status = Path(f"/proc/{pid}/status")
    assert "NoNewPrivs:\t1" in installed.machine.run(f"cat {status}")


@LIVE
def test_it_ends_in_order(installed: Installed) -> None:
    installed.machine.run(f"systemctl stop {UNIT}")
    assert (installed.show("ActiveState"), installed.show("Result")) == ("inactive", "success")
    installed.machine.run(f"systemctl start {UNIT}")
    installed.delivers()

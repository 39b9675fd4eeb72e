"""`jitterscope demo`: whether a real fault can be made here (see demo_fault.py), and otherwise a recording of one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from jitterscope.recordings import file
from jitterscope.recordings.merge import BadRecording
from jitterscope.recordings.replay import ReplayFailed, replay
from jitterscope.settings import REPOSITORY
from labs.cgroups import Hierarchies, LabCgroup
from labs.console import Say
from labs.errors import LabError
from labs.product import Product

RECORDING = REPOSITORY / "tests" / "fixtures" / "recordings" / "coredns-gc-fault.jitterscope"


def why_no_lab() -> str | None:
    """The reason why a lab cannot run here; None if one can."""
    if os.geteuid() != 0:
        return "a lab makes cgroups and captures packets, which needs root"
    probe = LabCgroup(Hierarchies.of_this_machine(), "probe")
    try:
        probe.create()
    except LabError as error:
        return str(error)
    finally:
        probe.remove()
    return None


def recorded(product: Product, ingest_token: str, say: Say, recording: Path = RECORDING) -> str:
    """Replay the recording of a fault in real time; returns what to print."""
    before = {int(one["id"]) for one in product.all_incidents()}
    try:
        content = file.load(recording)
        say(f"Replaying {content.ticks / 10:.0f} s of {recording.name}")
        started = time.time()
        replay(content, product.url, ingest_token, key_suffix=f"-demo-{int(started)}")
    except (BadRecording, ReplayFailed, OSError) as error:
        raise LabError(f"The recording could not be replayed: {error}") from error

    def opened() -> dict[str, Any] | None:
        return next((one for one in product.all_incidents() if int(one["id"]) not in before), None)

    incident = product.wait_for("an incident", opened, 30)
    return f"{incident['title']}\n{product.url}/incidents/{incident['id']}"

"""Which product watches a lab: a running one, or one started for it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jitterscope.devstack.flavours import FlavourUnavailable
from jitterscope.devstack.postgres import StartFailed
from jitterscope.devstack.stack import Stack
from jitterscope.labs.coredns_gc import Say
from jitterscope.labs.errors import LabError
from jitterscope.labs.product import Product

# On a user's site these run on other machines than the server that is watched.
_ELSEWHERE = ("postgres", "valkey", "api", "worker", "beat")


@contextmanager
def own_product(say: Say) -> Iterator[Product]:
    """Start a whole product in a temporary folder, and stop it afterwards, even when this process is killed."""
    if os.geteuid() != 0:
        raise LabError("The lab makes cgroups and watches packets: run it as root, or see `jitterscope demo`.")
    with tempfile.TemporaryDirectory(prefix="jitterscope-lab-stack-", ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder), durable=False, owner_pid=os.getpid(), say=say)
        try:
            stack.start()
        except (StartFailed, FlavourUnavailable, RuntimeError, OSError) as error:
            raise LabError(f"The product for this lab did not start: {error}") from error
        try:
            _yield_cpu(stack)
            with Product(stack.url, stack.create_api_token()) as product:
                product.wait_for("a collector", product.receives, 60)
                yield product
        finally:
            stack.stop()


def _yield_cpu(stack: Stack) -> None:
    """Lower the priority of everything but the collector."""
    for name, pid in stack.pids().items():
        if name in _ELSEWHERE:
            for task in Path(f"/proc/{pid}/task").glob("*"):
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, int(task.name), 10)

"""Which product watches a lab: a running one, or one started for it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from jitterscope.devstack.flavours import FlavourUnavailable
from jitterscope.devstack.postgres import StartFailed
from jitterscope.devstack.stack import Stack
from labs.console import Say
from labs.errors import LabError
from labs.product import Product

# More often than usual, so that a lab gets its answer soon.
_SCHEDULED_DIAGNOSIS_EVERY_S = 10.0
# Their last log lines tell why data did not arrive.
_LOGGED = ("collector", "api", "worker", "postgres")
# On a user's site these run on other machines than the monitored server.
_ELSEWHERE = ("postgres", "valkey", "api", "worker", "beat")


@contextmanager
def own_product(say: Say, collector_config: str = "", settings: Mapping[str, str] | None = None) -> Iterator[Product]:
    """Start a whole product in a temporary folder, and stop it afterwards, even if this process is killed.

    `collector_config`: the collector's configuration file (TOML). `settings`: further JITTERSCOPE_* variables.
    """
    if os.geteuid() != 0:
        raise LabError("The lab makes cgroups and captures packets. Run it as root, or see `jitterscope demo`.")
    with _stack(say, collector_config, settings or {}) as stack, _product(stack) as product:
        product.wait_for("a collector", product.receives, 60)
        yield product


@contextmanager
def product_for_others(say: Say, settings: Mapping[str, str]) -> Iterator[tuple[Product, str]]:
    """A product without a collector, and an ingest token for collectors elsewhere.

    It keeps its priority, since those elsewhere have their own CPUs.
    """
    with _stack(say, None, settings, yields=False) as stack, _product(stack) as product:
        yield product, stack.create_ingest_token(name="elsewhere")


@contextmanager
def _product(stack: Stack) -> Iterator[Product]:
    logs = [stack.log(name) for name in _LOGGED]
    with Product(stack.url, stack.create_api_token(), _SCHEDULED_DIAGNOSIS_EVERY_S, logs) as product:
        yield product


@contextmanager
def _stack(
    say: Say, collector_config: str | None, settings: Mapping[str, str], *, yields: bool = True
) -> Iterator[Stack]:
    """Start the stack; `collector_config` None: no collector."""
    with tempfile.TemporaryDirectory(prefix="jitterscope-lab-stack-", ignore_cleanup_errors=True) as folder:
        arguments: tuple[str, ...] = ()
        if collector_config:
            config = Path(folder) / "collector.toml"
            config.write_text(collector_config)
            arguments = ("--config", str(config))
        environment = {"JITTERSCOPE_SCHEDULED_DIAGNOSIS_EVERY_S": str(_SCHEDULED_DIAGNOSIS_EVERY_S), **settings}
        stack = Stack(
            Path(folder),
            collector=collector_config is not None,
            collector_arguments=arguments,
            durable=False,
            owner_pid=os.getpid(),
            say=say,
            environment=environment,
        )
        try:
            stack.start()
        except (StartFailed, FlavourUnavailable, RuntimeError, OSError) as error:
            raise LabError(f"The product for this lab did not start: {error}") from error
        try:
            if yields:
                yield_cpu(stack)
            yield stack
        finally:
            stack.stop()


def yield_cpu(stack: Stack) -> None:
    """Lower the priority of everything except the collector."""
    for name, pid in stack.pids().items():
        if name in _ELSEWHERE:
            for task in Path(f"/proc/{pid}/task").glob("*"):
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, int(task.name), 10)

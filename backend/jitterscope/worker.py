"""The Celery application. Tasks live in `<domain>/tasks.py` and are found there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from celery import Celery, Task
from celery.beat import PersistentScheduler, ScheduleEntry, SchedulingError
from celery.signals import setup_logging, task_postrun, worker_init, worker_process_init, worker_ready, worker_shutdown

from jitterscope import db, health, outages
from jitterscope.cache import valkey
from jitterscope.kit import allowance, memory, startup_objects
from jitterscope.kit.discovery import modules_named
from jitterscope.logs import configure_logging
from jitterscope.settings import settings


class Work(Task):  # type: ignore[misc]
    """A task that an outage of PostgreSQL or Valkey ends: due work stays due, and the outage is logged once.

    What it may hold is limited: too much data of one organization fails a task, not the worker.
    """

    def __call__(self, *args: object, **kwargs: object) -> object:
        try:
            with allowance.limited(db.task_allowance()):
                return super().__call__(*args, **kwargs)
        except Exception as error:
            if outages.noticed(error) is None:
                raise
            return None


class Beat(PersistentScheduler):  # type: ignore[misc]
    """Logs once that Valkey accepts no tasks, without a traceback for each one. Due tasks soon come due again."""

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        try:
            sent = self._sent(entry, *args, **kwargs)
        except SchedulingError as error:
            if outages.noticed(error.__context__ or error) is None:
                raise
            return None
        outages.valkey.worked()
        return sent

    def _sent(self, entry: ScheduleEntry, producer: object = None, advance: bool = True) -> Any:  # noqa: ANN401
        try:
            return super().apply_async(entry, producer=producer, advance=advance)
        except SchedulingError as error:
            # What kombu raises for a channel that an outage of Valkey closed, such as the one that beat keeps.
            if producer is None or not isinstance(error.__context__, AttributeError):
                raise
        return super().apply_async(entry, producer=None, advance=False)


def make_app() -> Celery:
    """Late acknowledgement everywhere: a killed worker's task runs again, so every task must be safe to repeat."""
    celery = Celery("jitterscope", broker=settings().valkey_url, task_cls=Work)
    celery.conf.update(
        imports=modules_named("jitterscope", "tasks"),
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_default_queue="jitterscope",
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        # How long the message of a killed worker stays invisible before another worker gets it.
        broker_transport_options={"visibility_timeout": 60, "socket_timeout": 10, "socket_connect_timeout": 5},
        enable_utc=True,
        timezone="UTC",
        beat_schedule={},
        beat_scheduler=f"{__name__}:{Beat.__name__}",
        beat_max_loop_interval=1,
    )
    return celery


app: Celery = make_app()

Function = Callable[..., Any]


def periodic(*, seconds: float, name: str | None = None) -> Callable[[Function], Any]:
    """Make a function without arguments a task that beat runs every `seconds`. Named "<domain>.<function>".

    A run that cannot start before the next one is due is dropped, so that a slow worker does not build up a backlog.
    """

    def register(function: Function) -> Any:  # noqa: ANN401
        task_name = name or task_name_of(function)
        task = app.task(name=task_name)(function)
        app.conf.beat_schedule[task_name] = {
            "task": task_name,
            "schedule": seconds,
            "options": {"expires": max(seconds, 1.0)},
        }
        return task

    return register


def task_name_of(function: Function) -> str:
    """ "jitterscope.series.tasks" and compact → "series.compact"."""
    parts = function.__module__.split(".")
    return f"{parts[1] if len(parts) > 2 else parts[0]}.{function.__name__}"


def send(task_name: str, *, countdown_s: float = 0.0, expires_s: float | None = None, **kwargs: Any) -> None:  # noqa: ANN401
    """Queue a task by name. Call it from `db.after_commit`, so that the task finds the data it was sent for.

    `expires_s`: it is dropped if it has not begun by then.
    """
    valkey().ping()  # fails at once on an outage; the broker's client would retry for seconds
    app.send_task(task_name, kwargs=kwargs, countdown=countdown_s or None, expires=expires_s, retry=False)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _fresh_connections(**_: object) -> None:
    db.forget_after_fork()


_metrics = ExitStack()


@worker_init.connect  # type: ignore[untyped-decorator]
def _serve_metrics(**_: object) -> None:
    _metrics.enter_context(health.metrics_served())


@worker_ready.connect  # type: ignore[untyped-decorator]
def _freeze(**_: object) -> None:
    startup_objects.freeze()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _end_metrics(**_: object) -> None:
    _metrics.close()


@task_postrun.connect  # type: ignore[untyped-decorator]
def _give_back_memory(**_: object) -> None:
    """A diagnosis or a compaction takes tens of megabytes for a moment."""
    memory.give_back(at_most_every_s=10.0)


@setup_logging.connect  # type: ignore[untyped-decorator]
def _logging(**_: object) -> None:
    configure_logging()

"""A real HTTP receiver, and helpers to queue and deliver."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from jitterscope.db import organization_session
from jitterscope.notify.channels_service import create_channel
from jitterscope.notify.conditions import Place
from jitterscope.notify.delivery import deliver_due
from jitterscope.notify.models import DeliveryRow
from jitterscope.notify.outbox import enqueue
from jitterscope.notify.payload import Payload
from jitterscope.notify.sample import sample_payload
from jitterscope.notify.schemas import ChannelCreate
from jitterscope.settings import Settings, settings
from tests.support.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.fixture
def local(settings_override: Callable[..., Settings], tmp_path: Path) -> Settings:
    """Settings that permit the local receiver and keep the journal in a folder of the test."""
    return settings_override(notify_allow_private_targets=True, notify_timeout_s=30.0, state_dir=tmp_path)


_transitions = itertools.count(int(time.time() * 1000))


@dataclass
class Outbox:
    """The outbox of one organization."""

    organization_id: int

    def add_channel(self, kind: str, config: dict[str, Any], **more: Any) -> int:
        request = ChannelCreate.model_validate({"kind": kind, "name": kind, "config": config, **more})
        with organization_session(self.organization_id) as session:
            return create_channel(session, request).id

    def queue(
        self,
        action: str = "opened",
        incident_id: int = 1,
        severity: str = "critical",
        *,
        at: datetime | None = None,
        also: Sequence[Place] = (),
        **incident: Any,
    ) -> int:
        """Queue a transition for the channels that want it; returns its ID. `incident`: parts of its payload."""
        content = sample_payload(self.organization_id, "jitterscope").model_dump()
        transition_id = next(_transitions)
        content["type"] = f"incident.{action}"
        content["transition"] |= {"id": transition_id, "action": action, "detail": None}
        content["transition"] |= {} if at is None else {"at": at}
        content["incident"] |= {"id": incident_id, "severity": severity, **incident}
        with organization_session(self.organization_id) as session:
            enqueue(session, Payload.model_validate(content), also)
        return transition_id

    def deliver(self) -> int:
        return deliver_due(self.organization_id)

    def rows(self) -> list[DeliveryRow]:
        with organization_session(self.organization_id) as session:
            return list(session.scalars(select(DeliveryRow).order_by(DeliveryRow.id)))

    def states(self) -> list[str]:
        return [row.state for row in self.rows()]

    def change(self, **values: Any) -> None:
        """Set columns of every delivery."""
        with organization_session(self.organization_id) as session:
            session.execute(update(DeliveryRow).values(**values))

    def make_due(self) -> None:
        """Let the retries' waiting time pass."""
        with organization_session(self.organization_id) as session:
            session.execute(
                update(DeliveryRow).where(DeliveryRow.state == "pending").values(next_attempt_at=func.now())
            )

    def worker_process(self) -> subprocess.Popen[bytes]:
        """A real worker that begins to deliver what is due, to be killed; the caller reaps it."""
        current = settings()
        environment = os.environ | {
            "JITTERSCOPE_DATABASE_URL": current.database_url.get_secret_value(),
            "JITTERSCOPE_VALKEY_URL": current.valkey_url,
            "JITTERSCOPE_SECRET_KEY": current.secret_key.get_secret_value(),
            "JITTERSCOPE_STATE_DIR": str(current.state_dir),
            "JITTERSCOPE_NOTIFY_ALLOW_PRIVATE_TARGETS": "true",
            "JITTERSCOPE_NOTIFY_TIMEOUT_S": str(current.notify_timeout_s),
        }
        code = (
            "from jitterscope.notify.delivery import deliver_due; print('ready', flush=True); "
            f"deliver_due({self.organization_id})"
        )
        worker = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, start_new_session=True, stdout=subprocess.PIPE
        )
        assert worker.stdout is not None
        with worker.stdout as pipe:
            assert pipe.readline() == b"ready\n"
        return worker


@pytest.fixture
def outbox(organization: Any, local: Settings) -> Outbox:
    return Outbox(organization.id)

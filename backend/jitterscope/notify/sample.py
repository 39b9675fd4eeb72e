"""The test message of a channel, which says that its content is made up."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime

from jitterscope.notify import courier
from jitterscope.notify.channels_service import open_config
from jitterscope.notify.kind import HttpRequest, HttpResponse, MailRequest, Message
from jitterscope.notify.models import ChannelRow
from jitterscope.notify.outgoing import outgoing
from jitterscope.notify.payload import (
    Payload,
    PayloadEvidence,
    PayloadFix,
    PayloadIncident,
    PayloadSubject,
    PayloadTransition,
)
from jitterscope.notify.wire import PostFailed
from jitterscope.settings import settings


def sample_request(row: ChannelRow, actor: str) -> HttpRequest | MailRequest:
    """The test message of a channel. Raises ChannelUnusable."""
    kind, config = open_config(row)
    payload = sample_payload(row.organization_id, actor)
    return kind.build(config, Message(key=uuid.uuid4().hex, payload=payload, thread=None, now_s=int(time.time())))


def send_sample(row: ChannelRow, request: HttpRequest | MailRequest) -> tuple[bool, int | None, str]:
    """Send a test message once, now: whether it arrived, the HTTP status if there was one, and the receiver's words."""
    kind, _ = open_config(row)
    try:
        status, headers, body = courier.send(outgoing(request))
    except PostFailed as error:
        return False, None, error.detail
    verdict = kind.judge(HttpResponse(status, headers, body))
    return verdict.outcome == "sent", status, verdict.detail or "The receiver accepted it."


def sample_payload(organization_id: int, actor: str) -> Payload:
    """A payload of the same shape as a real one. Its action is `test` and its ids are 0."""
    now = datetime.now(UTC)
    return Payload(
        version=1,
        type="incident.test",
        organization_id=organization_id,
        transition=PayloadTransition(id=0, action="test", at=now, actor=actor, detail="This is a test message."),
        incident=PayloadIncident(
            id=0,
            url=settings().public_url,
            cause="cpu/gc_throttling",
            cause_title="GC cycles use up the CPU limit",
            title="Test: kube-system/coredns stalls up to 92 ms: GC cycles use up its CPU limit of 0.5 CPU",
            summary="An example of a notification.",
            severity="info",
            confidence="high",
            state="open",
            subject=PayloadSubject(
                kind="cgroup",
                key="/example",
                name="kube-system/coredns",
                node="example",
                namespace="kube-system",
                workload="coredns",
            ),
            onset_at=now,
            last_seen_at=now,
            impact={
                "queries": 60000,
                "slow_queries": 900,
                "slow_ratio": 0.015,
                "p99_ms": 61.0,
                "max_ms": 92.0,
                "throttled_ratio": 0.06,
                "throttled_ms": 4200.0,
                "cpu_limit": 0.5,
                "cpu_peak_100ms": 0.95,
            },
            evidence=[
                PayloadEvidence(
                    statement="Throttled ticks inside a GC cycle", value="19 of 19", comparison="by chance: 6.5 %"
                )
            ],
            top_fix=PayloadFix(
                id="example",
                title="Set GOGC=off with GOMEMLIMIT",
                summary="Runs GC rarely instead of often.",
                verdict="removes",
            ),
        ),
    )

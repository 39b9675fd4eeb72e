"""What was muted before mutes had a table stays muted, with the reason from the history."""

from __future__ import annotations

import psycopg

from jitterscope.schema import runner
from tests.backend.tenancy.test_upgrade import scratch

__all__ = ["scratch"]  # a fixture
BEFORE, AFTER = "20261125_1615", "20261125_1616"


def test_muted_incidents_and_channels_of_before(scratch: str) -> None:
    runner.migrate(scratch, BEFORE)
    with psycopg.connect(scratch) as connection:
        connection.execute("INSERT INTO organizations (name) VALUES ('one')")
        for subject, muted, until in (
            (1, True, None),
            (2, True, "2099-01-01"),
            (3, True, "2020-01-01"),
            (4, False, None),
        ):
            connection.execute(
                "INSERT INTO incidents (organization_id, subject_id, subject_kind, subject_key, subject_name, "
                "subject_node, cause, title, severity, confidence, state, muted, muted_until, onset_at, opened_at, "
                "last_seen_at, trigger_at, window_from, window_to, finding, baseline_at) "
                "SELECT max(id), %s, 'cgroup', 'k', 'n', 'n', 'c', 't', 'info', 'high', 'open', %s, %s, now(), now(), "
                "now(), now(), now(), now(), '{}', now() FROM organizations",
                (subject, muted, until),
            )
        connection.execute(
            "INSERT INTO incident_transitions (organization_id, incident_id, actor, action, detail) "
            "SELECT organization_id, id, 'Ada', 'muted', 'until unmuted: known' FROM incidents WHERE subject_id = 1"
        )
        connection.execute(
            "INSERT INTO channels (organization_id, kind, name, min_severity, actions, config_sealed) "
            "SELECT max(id), 'slack', 'ops', 'info', ARRAY['opened', 'reopened'], '' FROM organizations"
        )
    runner.migrate(scratch, AFTER)
    with psycopg.connect(scratch) as connection:
        incidents = connection.execute(
            "SELECT i.subject_id, i.muted, i.mute->>'by', m.reason FROM incidents i "
            "LEFT JOIN mutes m ON m.id = (i.mute->>'id')::bigint AND m.incident_id = i.id ORDER BY 1"
        ).fetchall()
        actions = connection.execute("SELECT actions FROM channels").fetchone()
    assert incidents == [
        (1, True, "Ada", "until unmuted: known"),
        (2, True, "jitterscope", "No reason given"),
        (3, False, None, None),
        (4, False, None, None),
    ]
    assert actions == (["opened", "reopened", "unmuted"],)
    runner.downgrade(scratch, BEFORE)
    with psycopg.connect(scratch) as connection:
        assert connection.execute("SELECT actions FROM channels").fetchone() == (["opened", "reopened"],)

"""Every operation of the API, called with what its schema allows and forbids, by callers with and without rights.

Each answer is one that the schema declares, in status, content type, headers, and body; none is a server error, none
takes over 2 s. `make test` runs a few examples of every fourth operation, by the commit's turn (by_turn.py);
`make test-labs`, which sets JITTERSCOPE_EXAMPLES, runs many of each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
import zstandard
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.config import HealthCheck
from schemathesis.core.failures import FailureGroup

from jitterscope.main import create_app
from jitterscope.settings import override_settings, settings
from tests.backend.conftest import Database
from tests.backend.platform.schema_callers import Callers
from tests.backend.platform.schema_values import Values
from tests.support.batches import BatchBuilder
from tests.support.by_turn import part_of
from tests.support.serving import serving
from tests.support.unhurried import Stopwatch

ROOT = Path(__file__).parents[3]
CONTRACT = ROOT / "contracts" / "openapi.json"
EXAMPLES = int(os.environ.get("JITTERSCOPE_EXAMPLES", "8"))
SEED = int(os.environ.get("JITTERSCOPE_SEED", "13"))
MOST_S = 2.0
_CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)

# Bytes, in frames or not, and what a collector sends.
_BATCH = BatchBuilder("node-of-schema").fact(0, "node.kernel", "6.12").body()
_bytes = st.binary(max_size=100)
_BATCHES = st.one_of(st.just(_BATCH), _bytes, _bytes.map(zstandard.compress), _bytes.map(lambda end: _BATCH[:-9] + end))
for _kind in ("application/x-protobuf", "application/octet-stream"):
    schemathesis.openapi.media_type(_kind, _BATCHES)

_config = schemathesis.Config(seed=SEED, suppress_health_check=[HealthCheck.all])
_config.projects.default.max_stream_events = 1
_config.projects.default.generation.update(max_examples=EXAMPLES, with_security_parameters=False)
_config.projects.default.checks.update(included_check_names=list(_CHECKS))
schema = schemathesis.openapi.from_path(CONTRACT, config=_config)
_labels = [f"{method.upper()} {path}" for path, methods in schema.raw_schema["paths"].items() for method in methods]
_chosen = set(part_of(_labels))


@pytest.fixture(scope="module")
def service(database: Database) -> Iterator[str]:
    """The application's URL; no caller reaches an organization's limits, which have their own tests."""
    most = 10**9
    raised = {
        "limit_requests_per_min": most, "login_attempts_per_minute": most, "login_attempts_per_network": most,
        "notify_allow_private_targets": True,  # one that refuses connections at once
    }  # fmt: skip
    with override_settings(settings().model_copy(update=raised)), serving() as url:
        yield url


@pytest.fixture(scope="module")
def fed(service: str, database: Database) -> Values:
    return Values.of_recordings(service, database)


@pytest.fixture
def callers(database: Database, fed: Values) -> Callers:
    return Callers(database, fed.organization)


@pytest.fixture
def values(service: str, database: Database, fed: Values, callers: Callers) -> Values:
    return fed.anew(service, database)


@pytest.fixture(scope="module")
def stopwatch() -> Stopwatch:
    return Stopwatch(os.getpid())  # PostgreSQL and Valkey are its children


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """One connection, without cookies from earlier answers."""
    with requests.Session() as session:
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.trust_env = False
        yield session


def test_the_contract_is_what_the_application_says(service: str) -> None:
    assert schema.raw_schema == create_app().openapi()


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (500, b"{}", "application/problem+json"),
        (418, b'{"type": "x", "title": "x", "status": 418, "detail": "x"}', "application/problem+json"),
        (401, b'{"type": "x", "title": "x", "status": 401, "detail": "x"}', "text/plain"),
        (401, b'{"title": "x"}', "application/problem+json"),
        (200, b'{"actor": 7}', "application/json"),
    ],
)
def test_an_answer_that_is_not_declared_would_be_noticed(status: int, content: bytes, kind: str) -> None:
    """The control."""
    answer = requests.Response()
    answer.status_code, answer._content, answer.headers["Content-Type"] = status, content, kind
    case: Case[Any] = schema["/api/v1/me"]["GET"].Case()
    answer.request = requests.Request("GET", "http://localhost/api/v1/me").prepare()
    with pytest.raises(FailureGroup):
        case.validate_response(answer)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@schema.include(lambda context: context.operation.label in _chosen).parametrize()
# Set again: schemathesis keeps the value of a profile that Hypothesis loads by itself if CI is set.
@hypothesis.settings(suppress_health_check=list(hypothesis.HealthCheck))
def test_every_answer_is_declared_and_fast(
    case: Case[Any], service: str, values: Values, callers: Callers, session: requests.Session, stopwatch: Stopwatch
) -> None:
    values.put_in(case)
    for name, headers in callers.of(case.operation):
        send = partial(case.call, base_url=service, session=session, headers=headers, timeout=60)
        try:
            response = send()
            case.validate_response(response)
            if response.elapsed > MOST_S:
                # Repeated, alone, without the time in which others had the CPU: a busy machine does not make an answer
                # slow.
                took_s = stopwatch.least_of(3, send)
                assert took_s <= MOST_S, f"{case.as_curl_command()} took {took_s:.1f} s"
        except (AssertionError, FailureGroup) as error:
            error.add_note(f"as {name}; JITTERSCOPE_SEED={SEED} JITTERSCOPE_EXAMPLES={EXAMPLES}")
            raise

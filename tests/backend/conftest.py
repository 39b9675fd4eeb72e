"""Real servers for the backend's tests: one PostgreSQL and one Valkey per session, fresh organizations per test."""

from __future__ import annotations

import itertools
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from jitterscope import cache, db, outages, worker
from jitterscope.devstack.postgres import PostgresServer
from jitterscope.devstack.valkey import ValkeyServer
from jitterscope.http import UNDECLARED
from jitterscope.kit.secretbox import new_key
from jitterscope.logs import configure_logging
from jitterscope.main import create_app
from jitterscope.schema import bootstrap, runner
from jitterscope.settings import Settings, override_settings
from jitterscope.slots import Slots
from jitterscope.tenancy import founding, limits
from jitterscope.tenancy import secrets as secrets_of_tenancy
from jitterscope.tenancy.tokens import Kind
from tests.support import minutes
from tests.support.asked_once import OneCall


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test of the application with several parameters, all but the first are slow, as is one that waits."""
    seen: set[tuple[Path, str]] = set()
    for item in items:
        # Schemathesis names its tests after operations, but pytest 9.2 gives all of them the ID of their function.
        if item.name not in item.nodeid and item.parent is not None:
            item._id = item.parent.id.child(item.name)
        if isinstance(item, pytest.Function) and {"client", "early_in_a_minute"}.intersection(item.fixturenames):
            name = (item.path, item.originalname)
            if name in seen or "early_in_a_minute" in item.fixturenames:
                item.add_marker(pytest.mark.slow)
            seen.add(name)


@dataclass(frozen=True)
class Database:
    """A migrated database. `url` is for the application role, `owner_url` for the schema owner."""

    url: str
    owner_url: str
    superuser_url: str


@dataclass(frozen=True)
class Organization:
    """An organization made for one test, with an administrator, an API token ("*:*"), and an ingest token."""

    id: int
    email: str
    password: str
    owner_url: str
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def api_token(self) -> str:
        return self._token("api")

    @property
    def ingest_token(self) -> str:
        return self._token("ingest")

    @property
    def headers(self) -> dict[str, str]:
        """Authorization with every scope except ingest."""
        return {"Authorization": f"Bearer {self.api_token}"}

    @property
    def ingest_headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.ingest_token}"}

    def _token(self, kind: Kind) -> str:
        if kind not in self.tokens:
            self.tokens[kind] = founding.make_token(self.owner_url, self.id, kind, f"test {kind}", ("*:*",))
        return self.tokens[kind]


@pytest.fixture(scope="session", autouse=True)
def cheap_password_hashes() -> Iterator[None]:
    """Each organization has an administrator with a password, whose hash would take most of the time to found it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets_of_tenancy, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        patch.setattr(secrets_of_tenancy, "_NOBODY", secrets_of_tenancy.hash_password("nobody").rpartition("$")[0])
        yield


@pytest.fixture(scope="session", autouse=True)
def one_connection_as_owner() -> Iterator[None]:
    """Each organization and token is made as the schema's owner: a connection takes most of the time of that."""
    engines: dict[str, Engine] = {}

    @contextmanager
    def as_owner(owner_url: str) -> Iterator[Session]:
        if owner_url not in engines:
            engines[owner_url] = db.make_engine(owner_url, pool_size=1)
        with Session(engines[owner_url]) as session, session.begin():
            yield session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(founding, "as_owner", as_owner)
        yield
    for engine in engines.values():
        engine.dispose()


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[PostgresServer, ValkeyServer]]:
    """PostgreSQL (embedded, or TimescaleDB by JITTERSCOPE_TEST_DATABASE=timescaledb) and Valkey."""
    with tempfile.TemporaryDirectory(prefix="jitterscope-test-") as folder, ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer(Path(folder) / "postgres", durable=False))
        valkey = stack.enter_context(ValkeyServer(Path(folder) / "valkey"))
        yield postgres, valkey


@pytest.fixture(scope="session")
def database(
    servers: tuple[PostgresServer, ValkeyServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """One migrated database; the process's settings point to it and to Valkey for the whole session."""
    postgres, valkey = servers
    owner_url, app_url = bootstrap.bootstrap(
        # Beside tests that take all CPU time, it accepted no connection within the usual 10 s.
        f"{postgres.url()}?connect_timeout=60",
        "jitterscope",
        secrets.token_urlsafe(12),
        secrets.token_urlsafe(12),
    )
    runner.migrate(owner_url)
    replacement = Settings(
        database_url=SecretStr(app_url),
        owner_database_url=SecretStr(owner_url),
        valkey_url=valkey.url,
        secret_key=SecretStr(new_key()),
        log_format="text",
        evidence_folder=tmp_path_factory.mktemp("evidence"),
    )
    worker.app.conf.broker_url = valkey.url
    with override_settings(replacement):
        yield Database(app_url, owner_url, postgres.url("jitterscope"))


@pytest.fixture
def settings_override(database: Database) -> Iterator[Callable[..., Settings]]:
    """Change some settings for one test: `settings_override(session_ttl_s=60)`."""
    from jitterscope.settings import settings

    with ExitStack() as stack:

        def change(**changes: object) -> Settings:
            return stack.enter_context(override_settings(settings().model_copy(update=changes)))

        yield change


@pytest.fixture
def early_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of limits per minute stays in one minute: limits of organizations count in it however long it takes."""
    minutes.early_in_a_minute()
    now_s = limits._now_s()
    monkeypatch.setattr(limits, "_now_s", lambda: now_s)


@pytest.fixture(autouse=True)
def no_outage_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that failed is told as failing for some seconds more."""
    for part in (outages.database, outages.valkey):
        monkeypatch.setattr(outages, part.name, outages.Part(part.name, part.title))


@pytest.fixture(autouse=True)
def answers_as_declared() -> Iterator[None]:
    """No test gets an answer that the API's schema lacks."""
    yield
    found = {
        (*sample.labels.values(),)
        for sample in next(iter(UNDECLARED.collect())).samples
        if sample.name.endswith("_total") and sample.value
    }
    UNDECLARED.clear()
    assert not found, f"answers that no @refuses(…) declares: {found}"


_numbers = itertools.count(1)


@pytest.fixture
def make_organization(database: Database) -> Callable[[], Organization]:
    """Makes organizations; each call makes another one."""

    def make() -> Organization:
        number = next(_numbers)
        email, password = f"admin{number}@example.org", secrets.token_urlsafe(12)
        made = founding.found_organization(database.owner_url, f"Organization {number}", email, password, operator=True)
        return Organization(made.organization_id, email, password, database.owner_url)

    return make


@pytest.fixture
def organization(make_organization: Callable[[], Organization]) -> Organization:
    return make_organization()


@pytest.fixture
def other_organization(make_organization: Callable[[], Organization]) -> Organization:
    """A second tenant, whose data the first must never see."""
    return make_organization()


@pytest.fixture(scope="session")
def app(database: Database) -> FastAPI:
    """One for all tests of a process: the first request to a new one takes ten times as long as the next."""
    return create_app()


@pytest.fixture(scope="session")
def running(app: FastAPI) -> Iterator[TestClient]:
    """The application, started once: a start for each test would also connect to the database anew."""
    with TestClient(app) as started:
        yield started


@pytest.fixture
def client(app: FastAPI, running: TestClient) -> TestClient:
    """The application without credentials; errors come back as responses, as users see them."""
    cache.valkey().flushdb()
    app.state.slots = Slots()
    configure_logging()
    plain = TestClient(app)
    plain.portal = running.portal
    assert plain.portal is not None
    plain._transport = OneCall(app, plain.portal)
    return plain


@pytest.fixture
def api(client: TestClient, organization: Organization) -> TestClient:
    """The application, called with `organization`'s API token (all scopes except ingest)."""
    client.headers.update(organization.headers)
    return client

"""docker-compose.yml as it is, from the first login to an upgrade, under continuous requests."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from labs import namespaces
from labs.compose import engine, older
from labs.compose.engine import Engine
from labs.compose.report import Part, Report
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import backend, chart
from labs.kubernetes.lifecycle import DEMO_CAUSE, stored, told
from labs.kubernetes.sending import Traffic
from labs.product import Product

URL = "http://127.0.0.1:8000"
SERVICES = ("timescaledb", "valkey", "api", "worker", "beat", "collector")
# As in docs/deploy.md, except that images are loaded instead of built.
SECRETS = "docker run --rm jitterscope:0.1.0 jitterscope new-secrets > .env"
UP = "docker compose up -d"
LOGIN = "docker compose logs setup"
BACKUP = "docker compose exec -T timescaledb pg_dump --format=custom -U postgres jitterscope > backup.dump"
RESTORE = """\
docker compose down
docker volume rm jitterscope_database
docker compose up -d --wait timescaledb
docker compose run --rm setup jitterscope bootstrap > /dev/null
sql() { docker compose exec -T timescaledb psql --quiet --set=ON_ERROR_STOP=1 -U postgres jitterscope --command="$1"; }
sql "SELECT timescaledb_pre_restore()" > /dev/null
docker compose exec -T timescaledb pg_restore --exit-on-error --no-comments -U postgres -d jitterscope < backup.dump
sql "SELECT timescaledb_post_restore()" > /dev/null
docker compose up -d
"""
RESET = "docker compose run --rm -e JITTERSCOPE_ADMIN_PASSWORD={} setup jitterscope admin set-password admin@localhost"
_IMAGE, _CURRENT, _OLDER = "jitterscope:0.1.0", "jitterscope:current", "jitterscope:older"
# A root user without CAP_SYS_RESOURCE may not raise limits, not even those of a container.
_WITHOUT_LIMITS = "services:\n  collector:\n    ulimits: !reset null\n"
_SYS_RESOURCE = 24
_NEW_PASSWORD = "another password"  # noqa: S105
_REVISION = (
    "docker compose exec -T timescaledb psql --username=postgres --dbname=jitterscope --tuples-only --no-align "
    "--command='SELECT version_num FROM alembic_version'"
)
_KILL = "kill -KILL $(docker compose ps --quiet | xargs docker inspect --format '{{.State.Pid}}')"
# The chart's demo, in two containers.
_DEMO = """\
docker run -d --name demo --cpus 0.05 --memory 64m -v ./demo.py:/demo.py:ro jitterscope:0.1.0 python -I /demo.py serve
docker run -d --name demo-clients --network container:demo -v ./demo.py:/demo.py:ro jitterscope:0.1.0 \\
  python -I /demo.py ask http://127.0.0.1:8080/
"""
_SENDERS, _READERS = 4, 1
_QUIET_S = 5.0
_READY_PATIENCE_S, _DATA_PATIENCE_S, _INCIDENT_PATIENCE_S = 120.0, 60.0, 180.0


def run(say: Say) -> Report:
    """Start it, sign in, restart everything, make an incident, back up and restore, upgrade. Raises LabError."""
    with engine.running(say) as made:
        commit = _loaded(made, say)
        limits_kept = _may_raise_limits()
        if not limits_kept:
            (made.project / "docker-compose.override.yml").write_text(_WITHOUT_LIMITS)
        (made.project / "demo.py").write_text((chart.CHART / "files" / "demo.py").read_text())
        made.shell(SECRETS)
        with namespaces.network_of(made.machine.pid):
            versions = json.loads(made.shell("docker version --format json"))
            told_so_far = _in_use(made, say)
            told_so_far |= _upgraded(made, say)
        return Report.model_validate(
            {
                "docker": versions["Server"]["Version"],
                "compose": made.shell("docker compose version --short").strip(),
                "limits_kept": limits_kept,
                "older": commit,
                **told_so_far,
            }
        )


def _loaded(made: Engine, say: Say) -> str:
    """Load the images under the names of docker-compose.yml, and the older backend; returns its commit."""
    say("Loading images of the backend, TimescaleDB, Valkey, and the collector")
    files, commit = older.checkout()
    before = replace(backend.product(files, "backend-older"), name=_OLDER)
    for image in (*backend.servers(), chart.collector_image(), before, backend.product()):
        made.load(image)
    made.shell(f"docker image tag {_IMAGE} {_CURRENT}")
    return commit


def _may_raise_limits() -> bool:
    [effective] = re.findall(r"^CapEff:\s+(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return bool(int(effective, 16) >> _SYS_RESOURCE & 1)


@dataclass(slots=True)
class _Trial:
    """One installation while requests go on."""

    made: Engine
    say: Say
    product: Product
    traffic: Traffic
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count requests under this name until it is over and the API is ready again."""
        self.say(name)
        self.traffic.phase(name)
        began = time.monotonic()
        yield
        self.product.wait_for(f"/readyz as ready after `{name}`", _is_ready, _READY_PATIENCE_S)
        self.seconds[name] = time.monotonic() - began

    def part(self) -> Part:
        """What happened to requests, and what is stored of them."""
        phases = [told(name, self.seconds[name], requests) for name, requests in self.traffic.phases.items()]
        return Part(phases=phases, stored=[stored(self.product, one) for one in self.traffic.senders])


def _is_ready() -> bool:
    try:
        return bool(httpx.get(f"{URL}/readyz", timeout=10, trust_env=False).json()["status"] == "ready")
    except (httpx.HTTPError, ValueError):
        return False


@contextmanager
def _installed(made: Engine, say: Say, options: str = "") -> Iterator[_Trial]:
    """`docker compose up` and the first login."""
    say(f"{UP}{options}")
    made.shell(UP + options)
    with Product.signed_in(URL, *_first_login(made)) as product:
        [token] = re.findall(r"^JITTERSCOPE_COLLECTOR_TOKEN=(.*)$", (made.project / ".env").read_text(), re.MULTILINE)
        yield _Trial(made, say, product, Traffic(URL, token, product.cookies, _SENDERS, _READERS))


def _first_login(made: Engine) -> tuple[str, str]:
    log = made.shell(LOGIN)
    found = re.search(r"\| +([^\s@]+@\S+) +([\w-]+)", log)
    if found is None:
        raise LabError(f"The set-up log has no first login: {log!r}")
    return found[1], found[2]


def _in_use(made: Engine, say: Say) -> dict[str, object]:
    """From the first start to the restored backup."""
    began = time.monotonic()
    with _installed(made, say) as trial:
        product, ready_s = trial.product, time.monotonic() - began
        product.wait_for("the collector", product.receives, _DATA_PATIENCE_S)
        data_s = time.monotonic() - began
        trial.traffic.phase("before")
        with trial.traffic.running():
            with trial.phase("before"):
                time.sleep(_QUIET_S)
            returned = _restarted(trial)
            incident, incident_s = _first_incident(trial)
            dumped = [replace(one) for one in trial.traffic.senders]
            with trial.phase("backup"):
                made.shell(BACKUP)
        [collector] = [one for one in product.collectors().values() if one["sources"]]
        restarts = trial.part()
        _restored(made, product, say)
        restored = [stored(product, one) for one in dumped]
        made.shell(RESET.format(shlex.quote(_NEW_PASSWORD)))
        with Product.signed_in(URL, "admin@localhost", _NEW_PASSWORD):
            pass
        return {
            "ready_s": round(ready_s, 1),
            "data_s": round(data_s, 1),
            "sources": {one["name"]: f"{one['state']}: {one['detail']}" for one in collector["sources"]},
            "restarts": restarts,
            "returned": returned,
            "collector_batches": collector["batches"],
            "collector_dropped": collector["dropped_batches"],
            "first_incident": incident["title"],
            "first_incident_subject": incident["subject"],
            "first_incident_s": round(incident_s, 1),
            "dump_bytes": (made.project / "backup.dump").stat().st_size,
            "restored": restored,
        }


def _restarted(trial: _Trial) -> dict[str, list[str]]:
    """Restart each service in turn, kill all, restart Docker; returns which services run after each."""
    returned: dict[str, list[str]] = {}
    for service in SERVICES:
        name = f"restart of {service}"
        with trial.phase(name):
            trial.made.shell(f"docker compose restart {service}")
        returned[name] = _services(trial.made)
    name = "kill of everything"
    with trial.phase(name):
        trial.made.shell(_KILL)
    returned[name] = _services(trial.made)
    name = "restart of Docker"
    with trial.phase(name):
        trial.made.restart()
    returned[name] = _services(trial.made)
    return returned


def _services(made: Engine) -> list[str]:
    """The services that run, once all do, or after the timeout."""
    deadline = time.monotonic() + _READY_PATIENCE_S
    while True:
        found = sorted(made.shell("docker compose ps --services --status running").split())
        if found == sorted(SERVICES) or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def _first_incident(trial: _Trial) -> tuple[dict[str, str], float]:
    def found() -> dict[str, str] | None:
        for one in trial.product.all_incidents():
            if one["cause"] == DEMO_CAUSE and "demo" in one["subject"]["name"]:
                return {"title": one["title"], "subject": one["subject"]["name"]}
        return None

    began = time.monotonic()
    with trial.phase("incident"):
        trial.made.shell(_DEMO)
        incident = trial.product.wait_for("the incident of the container demo", found, _INCIDENT_PATIENCE_S)
        incident_s = time.monotonic() - began
        trial.made.shell("docker rm --force demo demo-clients")
    return incident, incident_s


def _restored(made: Engine, product: Product, say: Say) -> None:
    """Restore the dump into a new volume. The session from before goes on, and its collector delivers again."""
    say("Restoring the backup into a new volume")
    made.shell(RESTORE)
    product.wait_for("/readyz as ready after the restore", _is_ready, _READY_PATIENCE_S)
    product.wait_for("the collector after the restore", product.receives, _DATA_PATIENCE_S)


def _upgraded(made: Engine, say: Say) -> dict[str, object]:
    """Install the older backend anew, and replace it by the current one under load."""
    made.shell(f"docker compose down --volumes\ndocker image tag {_OLDER} {_IMAGE}")
    # An older API need not understand a newer collector.
    with _installed(made, say, " --scale collector=0") as trial:
        before = made.shell(_REVISION).strip()
        trial.traffic.phase("before")
        with trial.traffic.running():
            with trial.phase("before"):
                time.sleep(_QUIET_S)
            with trial.phase("upgrade"):
                made.shell(f"docker image tag {_CURRENT} {_IMAGE}\n{UP}")
            with trial.phase("after"):
                time.sleep(_QUIET_S)
        trial.product.wait_for("the collector after the upgrade", trial.product.receives, _DATA_PATIENCE_S)
        return {"schemas": (before, made.shell(_REVISION).strip()), "upgrade": trial.part()}

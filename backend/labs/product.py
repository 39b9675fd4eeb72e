"""What a lab queries from a running product, over its REST API only."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from labs.errors import LabError

Answer = TypeVar("Answer")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PATIENCE_S = 5.0
_LONGEST_CHECK_US = 900_000_000  # fits into one answer at full resolution
_LOG_LINES_SHOWN, _LOG_LINE_SHOWN = 15, 400


class Product:
    """A running Jitterscope.

    `token`: an API token that may read incidents, resources, and series. `scheduled_diagnosis_every_s`: the product's
    setting of that name. `logs`: the log files of its programs, if available: every failure to get data quotes their
    last lines.
    """

    def __init__(
        self, url: str, token: str, scheduled_diagnosis_every_s: float = 60.0, logs: Sequence[Path] = ()
    ) -> None:
        self.url, self.token = url.rstrip("/"), token
        self._logs = logs
        self.scheduled_diagnosis_every_s = scheduled_diagnosis_every_s
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
        )

    @classmethod
    def signed_in(cls, url: str, email: str, password: str) -> Self:
        """A product accessed through a session instead of a token. Raises LabError if the sign-in is refused."""
        product = cls(url, "")
        del product._http.headers["Authorization"]
        product._http.headers["X-Requested-With"] = "jitterscope"
        response = product._http.post("/auth/login", json={"email": email, "password": password})
        if response.status_code >= 400:
            raise LabError(f"{url} refuses {email}: {_complaint(response)}")
        return product

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def _get(self, path: str, **query: object) -> httpx.Response:
        parameters = cast(dict[str, Any], query)
        try:
            response = self._http.get(path, params=parameters)
        except httpx.HTTPError as error:
            raise LabError(f"The product at {self.url} does not answer: {error}.{self._last_logged()}") from error
        if response.status_code >= 400:
            raise LabError(f"{self.url}/api/v1{path}: {_complaint(response)}")
        return response

    def _pages(self, path: str, **query: object) -> list[dict[str, Any]]:
        """The items of all pages of a list."""
        page = self._get(path, **query).json()
        found: list[dict[str, Any]] = page["items"]
        while page["next_cursor"] is not None:
            page = self._get(path, cursor=page["next_cursor"], **query).json()
            found += page["items"]
        return found

    def receives(self) -> bool:
        """Whether a collector delivers now. Raises LabError if the URL or the token is wrong."""
        return any(one["state"] == "receiving" for one in self._pages("/collectors"))

    def wait_for(self, what: str, ready: Callable[[], Answer | None], patience_s: float) -> Answer:
        """Poll until there is an answer. Raises LabError after `patience_s`."""
        deadline = time.monotonic() + patience_s
        while not (found := ready()):
            if time.monotonic() > deadline:
                raise LabError(f"The product did not show {what} within {patience_s:.0f} s.{self._last_logged()}")
            time.sleep(0.25)
        return found

    def cgroup_id(self, key: str) -> int | None:
        """The newest cgroup resource with this key (its path below the hierarchy root)."""
        items = self._get("/resources", kind="cgroup", search=key, limit=50).json()["items"]
        return max((int(one["id"]) for one in items if one["key"] == key), default=None)

    def all_cgroups(self) -> list[dict[str, Any]]:
        """Every cgroup resource that ever existed."""
        # Each comes with its usage in the last minute: more of them at once are too much data.
        return self._pages("/resources", kind="cgroup", gone=True, limit=50)

    def resource(self, resource_id: int) -> dict[str, Any]:
        """One resource, with every change of its facts, oldest first."""
        return dict(self._get(f"/resources/{resource_id}").json())

    def resources(self, kind: str) -> list[dict[str, Any]]:
        """The resources of a kind, at most 200."""
        return list(self._get("/resources", kind=kind, limit=200).json()["items"])

    def slowest_starts(self) -> list[dict[str, Any]]:
        """The pods that took longest to start in the last hour, by name."""
        return list(self._get("/pod-starts").json()["slowest"])

    def node_id(self) -> int | None:
        """The node resource of this machine; if none has its name, the only one that exists."""
        items = self._get("/resources", kind="node", limit=200).json()["items"]
        own = [one for one in items if one["name"] == socket.gethostname()] or (items if len(items) == 1 else [])
        return max((int(one["id"]) for one in own), default=None)

    def wait_until_stored(self, resource_id: int, metric: str, from_us: int, to_us: int) -> None:
        """Wait until every tick of the window is stored, or no more have come for a while: some are never sampled."""
        stored, since = -1, time.monotonic()
        while stored < (to_us - from_us) // 100_000:
            now = self._ticks(resource_id, metric, max(from_us, to_us - _LONGEST_CHECK_US), to_us)
            if now > stored:
                stored, since = now, time.monotonic()
            elif time.monotonic() - since > _PATIENCE_S:
                break
            else:
                time.sleep(0.5)
        if stored <= 0:
            raise LabError(f"The product stored nothing of resource {resource_id}.{self._last_logged()}")

    def _last_logged(self) -> str:
        """The last log lines of its programs, or where to look."""
        if not self._logs:
            return " See the collector's log."
        said = [""]
        for log in self._logs:
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            said += [f"{log.name} ends with:", *(line[:_LOG_LINE_SHOWN] for line in lines[-_LOG_LINES_SHOWN:])]
        return "\n".join(said)

    def _ticks(self, resource_id: int, metric: str, from_us: int, to_us: int) -> int:
        charts = self._get(
            "/series/query",
            resource=resource_id,
            metric=metric,
            points=10_000,
            **{"from": _instant(from_us), "to": _instant(to_us)},
        ).json()["series"]
        return sum(value is not None for chart in charts for value in chart["high"])

    def values(self, resource_id: int, metric: str, from_us: int, to_us: int) -> dict[int, float]:
        """Start of each stored tick (µs) → its value; the window may have at most 10,000 ticks."""
        query = {"from": _instant(from_us), "to": _instant(to_us)}
        found = self._get("/series/query", resource=resource_id, metric=metric, points=10_000, **query).json()["series"]
        return {
            at_us: value
            for chart in found
            for at_us, value in zip(chart["t_us"], chart["high"], strict=True)
            if value is not None
        }

    def collectors(self) -> dict[str, dict[str, Any]]:
        """Every collector that has ever delivered, by its node's key."""
        return {one["node"]["key"]: one for one in self._pages("/collectors")}

    @property
    def cookies(self) -> httpx.Cookies:
        """Cookies of the session, if signed in."""
        return self._http.cookies

    def setup(self, name: str) -> str:
        """The commands or configuration that "Add collector" shows for a kind of machine, or for another sender."""
        [found] = [one for one in self._get("/collectors/setups").json()["items"] if one["name"] == name]
        return str(found["text"])

    def diagnosed(self, resource_id: int) -> tuple[int, bool]:
        """Until when the data of the cgroup or node were diagnosed (µs; 0: never), and whether it is at rest.

        At rest: no diagnosis is running or planned, so that only a trigger leads to one.
        """
        state = self._get(f"/resources/{resource_id}/diagnosis").json()
        until = state["diagnosed_until"]
        until_us = 0 if until is None else (datetime.fromisoformat(until) - _EPOCH) // timedelta(microseconds=1)
        return until_us, state["next_at"] is None

    def recording(self, resource_id: int, from_us: int, to_us: int) -> Recording:
        """Everything stored for the cgroup and its neighbors in the window."""
        content = self._get("/recordings", resource=resource_id, **{"from": str(from_us), "to": str(to_us)}).content
        return file.read(io.BytesIO(content))

    def incidents(self, cgroup_id: int, since_us: int) -> list[dict[str, Any]]:
        """Incidents of the cgroup seen since then, in opening order."""
        found = self._get("/incidents", subject=cgroup_id, since=_instant(since_us), limit=100).json()["items"]
        return sorted(found, key=lambda one: (str(one["opened_at"]), int(one["id"])))

    def incident(self, incident_id: int) -> dict[str, Any]:
        """One incident, with its history, oldest first."""
        return dict(self._get(f"/incidents/{incident_id}").json())

    def verifications(self, incident_id: int) -> list[dict[str, Any]]:
        """Every fix that was applied to an incident, newest first."""
        return list(self._get(f"/incidents/{incident_id}/verifications").json())

    def declare(self, incident_id: int, fix_id: str, applied_us: int) -> None:
        """Declare that a fix was applied, and when."""
        said = {"fix_id": fix_id, "applied_at": _instant(applied_us)}
        response = self._http.post(f"/incidents/{incident_id}/verify", json=said)
        if response.status_code >= 400:
            raise LabError(f"The product rejects the fix {fix_id}: {_complaint(response)}")

    def all_incidents(self) -> list[dict[str, Any]]:
        """The newest incidents of every subject, newest first."""
        return list(self._get("/incidents", limit=100).json()["items"])

    def changes(self) -> list[dict[str, Any]]:
        """The changes of the last 24 h, newest first."""
        return list(self._get("/changes").json()["items"])

    def service_map(self) -> dict[str, Any]:
        """Who calls whom in the last hour."""
        return dict(self._get("/services/map").json())

    def services(self) -> list[dict[str, Any]]:
        """The servers seen in the last hour."""
        return self._pages("/services")

    def risks(self, cgroup_id: int | None) -> list[dict[str, Any]]:
        """Risks of the cgroup, or of all, in the order first seen."""
        of = {} if cgroup_id is None else {"subject": cgroup_id}
        found = self._get("/risks", limit=100, **of).json()["items"]
        return sorted(found, key=lambda one: (str(one["first_seen_at"]), int(one["id"])))


def _complaint(response: httpx.Response) -> str:
    """The problem's detail and what to do; otherwise the beginning of the response."""
    try:
        told = response.json()
        words = [told["detail"], told.get("what_to_do")]
        return f"HTTP {response.status_code}: {' '.join(word for word in words if word)}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"HTTP {response.status_code}: {response.text[:300]}"


def _instant(at_us: int) -> str:
    return (_EPOCH + timedelta(microseconds=at_us)).isoformat()

"""What a lab asks a running product, over its REST interface only."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from jitterscope.labs.errors import LabError
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording

Answer = TypeVar("Answer")
_PATIENCE_S = 5.0
_LONGEST_CHECK_US = 900_000_000  # fits into one answer at full resolution


class Product:
    """A running Jitterscope. `token`: an API token that may read incidents, resources and series."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
        )

    @classmethod
    def signed_in(cls, url: str, email: str, password: str) -> Self:
        """With a session instead of a token. Raises LabError where the sign-in is refused."""
        product = cls(url, "")
        del product._http.headers["Authorization"]
        product._http.headers["X-Requested-With"] = "jitterscope"
        response = product._http.post("/auth/login", json={"email": email, "password": password})
        if response.status_code >= 400:
            raise LabError(f"{url} refuses {email}: HTTP {response.status_code}: {response.text[:300]}")
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
            raise LabError(f"The product at {self.url} does not answer: {error}") from error
        if response.status_code >= 400:
            raise LabError(f"{self.url}/api/v1{path}: HTTP {response.status_code}: {response.text[:300]}")
        return response

    def receives(self) -> bool:
        """Whether a collector delivers now. Raises LabError where the URL or the token is wrong."""
        return any(one["state"] == "receiving" for one in self._get("/collectors").json())

    def wait_for(self, what: str, ready: Callable[[], Answer | None], patience_s: float) -> Answer:
        """Ask until there is an answer. Raises LabError after `patience_s`."""
        deadline = time.monotonic() + patience_s
        while not (found := ready()):
            if time.monotonic() > deadline:
                raise LabError(f"The product did not show {what} within {patience_s:.0f} s.")
            time.sleep(0.25)
        return found

    def cgroup_id(self, key: str) -> int | None:
        """The newest cgroup resource with this key (its path below the hierarchy root)."""
        items = self._get("/resources", kind="cgroup", search=key, limit=50).json()["items"]
        return max((int(one["id"]) for one in items if one["key"] == key), default=None)

    def wait_until_stored(self, resource_id: int, metric: str, from_us: int, to_us: int) -> None:
        """Until every tick of the window is stored, or no more have come for a while: some are never sampled."""
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
            raise LabError(f"The product stored nothing of resource {resource_id}: look at the collector's log.")

    def _ticks(self, resource_id: int, metric: str, from_us: int, to_us: int) -> int:
        charts = self._get(
            "/series/query",
            resource=resource_id,
            metric=metric,
            points=10_000,
            **{"from": _instant(from_us), "to": _instant(to_us)},
        ).json()["series"]
        return sum(value is not None for chart in charts for value in chart["high"])

    def recording(self, resource_id: int, from_us: int, to_us: int) -> Recording:
        """Everything stored of the cgroup and its neighbours in the window."""
        content = self._get("/recordings", resource=resource_id, **{"from": str(from_us), "to": str(to_us)}).content
        return file.read(io.BytesIO(content))

    def incidents(self, cgroup_id: int, since_us: int) -> list[dict[str, Any]]:
        """Incidents of the cgroup seen since then, the first opened first."""
        found = self._get("/incidents", subject=cgroup_id, since=_instant(since_us), limit=100).json()["items"]
        return sorted(found, key=lambda one: (str(one["opened_at"]), int(one["id"])))

    def all_incidents(self) -> list[dict[str, Any]]:
        """The newest incidents of every subject, newest first."""
        return list(self._get("/incidents", limit=100).json()["items"])

    def risks(self, cgroup_id: int) -> list[dict[str, Any]]:
        """Risks of the cgroup, the first seen first."""
        found = self._get("/risks", subject=cgroup_id, limit=100).json()["items"]
        return sorted(found, key=lambda one: (str(one["first_seen_at"]), int(one["id"])))


def _instant(at_us: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).isoformat()

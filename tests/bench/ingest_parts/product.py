"""Jitterscope's API and database as child processes, fed by HTTP as collectors do."""

from __future__ import annotations

import http.client
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np
import zstandard
from pydantic import SecretStr
from sqlalchemy import text

from jitterscope import db
from jitterscope.devstack.ports import free_port
from jitterscope.devstack.postgres import PostgresServer
from jitterscope.devstack.valkey import ValkeyServer
from jitterscope.kit.secretbox import new_key
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.schema import bootstrap, runner
from jitterscope.series.catalogue import METRICS as CATALOGUE
from jitterscope.settings import Settings, override_settings
from jitterscope.tenancy import founding
from tests.bench.ingest_parts.workload import BYTES, COUNTS, TICK_US, Values, Workload, cgroup_key

# Of series, and those from which compaction removes.
_TABLES = (
    "series_blocks", "series_segments", "series_rollups_1s", "series_rollups_5s", "series_rollups_1m", "series_layouts",
)  # fmt: skip
_COMPACTED = ("series_blocks", "series_rollups_1s", "series_rollups_5s", "series_rollups_1m")


def bodies(workload: Workload, values: dict[str, Values], per_batch: int) -> list[bytes]:
    """One ingest request per batch: every series once, with `per_batch` ticks."""
    spool = secrets.token_bytes(16)
    compressor = zstandard.ZstdCompressor(level=1)
    counts = np.concatenate([values[metric] for metric in COUNTS]).astype("<i4")
    sizes = np.concatenate([values[metric] for metric in BYTES]).astype("<f8")
    cgroups = list(range(1, workload.cgroups + 1))
    result = []
    for number, first in enumerate(range(0, workload.ticks, per_batch), 1):
        batch = pb.Batch(
            spool_id=spool, sequence=number, sealed_at_us=time.time_ns() // 1000, collector_version="bench"
        )
        batch.resources.add(kind=pb.RESOURCE_KIND_NODE, key="bench-node", parent=0)
        for cgroup in range(workload.cgroups):
            batch.resources.add(kind=pb.RESOURCE_KIND_CGROUP, key=cgroup_key(cgroup), parent=0)
        for metrics, matrix, encoding in ((COUNTS, counts, pb.ENCODING_I32), (BYTES, sizes, pb.ENCODING_F64)):
            part = np.ascontiguousarray(matrix[:, first : first + per_batch])
            batch.blocks.add(
                start_us=workload.start_us + first * TICK_US,
                step_us=TICK_US,
                tick_count=part.shape[1],
                encoding=encoding,
                resource=cgroups * len(metrics),
                metric=[CATALOGUE[metric].id for metric in metrics for _ in cgroups],
                values=part.tobytes(),
            )
        result.append(compressor.compress(batch.SerializeToString()))
    return result


class Product:
    """`with Product(folder) as product`: database, Valkey, API; inside, the process's settings point to it."""

    def __init__(self, folder: Path, api_workers: int = 1) -> None:
        self.folder, self.port, self._api_workers = folder, free_port(), api_workers
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.postgres = self._stack.enter_context(PostgresServer(self.folder / "postgres"))
        valkey = self._stack.enter_context(ValkeyServer(self.folder / "valkey"))
        owner_url, app_url = bootstrap.bootstrap(
            self.postgres.url(), "jitterscope", secrets.token_urlsafe(12), secrets.token_urlsafe(12)
        )
        runner.migrate(owner_url)
        made = founding.found_organization(owner_url, "Bench", "bench@localhost", secrets.token_urlsafe(12))
        self.organization_id = made.organization_id
        self.ingest_token = founding.make_token(owner_url, self.organization_id, "ingest", "bench", ("ingest:write",))
        self.api_token = founding.make_token(owner_url, self.organization_id, "api", "bench", ("*:*",))
        settings = Settings(
            database_url=SecretStr(app_url), owner_database_url=SecretStr(owner_url), valkey_url=valkey.url,
            secret_key=SecretStr(new_key()), log_level="WARNING", ingest_max_body_bytes=32 * 1024 * 1024,
            database_statement_timeout_s=600,
        )  # fmt: skip
        self._stack.enter_context(override_settings(settings))
        environment = os.environ | {
            "JITTERSCOPE_DATABASE_URL": app_url, "JITTERSCOPE_VALKEY_URL": valkey.url,
            "JITTERSCOPE_SECRET_KEY": settings.secret_key.get_secret_value(), "JITTERSCOPE_LOG_LEVEL": "WARNING",
            "JITTERSCOPE_INGEST_MAX_BODY_BYTES": str(settings.ingest_max_body_bytes),
        }  # fmt: skip
        with (self.folder / "api.log").open("wb") as log:
            self._api = subprocess.Popen(
                [
                    sys.executable, "-m", "uvicorn", "--factory", "jitterscope.main:create_app", "--host", "127.0.0.1",
                    "--port", str(self.port), "--no-access-log", "--log-level", "warning",
                    "--workers", str(self._api_workers),
                ],
                env=environment, stdout=log, stderr=log,
            )  # fmt: skip
        self._stack.callback(self._stop_api)
        self._wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def api_pid(self) -> int:
        return self._api.pid

    def _stop_api(self) -> None:
        self._api.terminate()
        self._api.wait(timeout=30)

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                self.get("/healthz")
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise SystemExit(f"the API did not start: {(self.folder / 'api.log').read_text()[-3000:]}")

    def get(self, path: str, **parameters: Any) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            query = f"?{urlencode(parameters)}" if parameters else ""
            connection.request("GET", path + query, headers={"Authorization": f"Bearer {self.api_token}"})
            response = connection.getresponse()
            body = response.read()
            if response.status >= 300:
                raise SystemExit(f"the API answered {response.status}: {body[:500]!r}")
            return body
        finally:
            connection.close()

    def size_bytes(self, tables: Sequence[str] = _TABLES) -> int:
        """Bytes on disk of tables, with indexes, partitions, and out-of-line values."""
        with db.make_engine(self.postgres.url("jitterscope")).connect() as connection:
            # Children of a partitioned table and chunks of a hypertable are both inheritance children.
            return int(
                connection.execute(
                    text(
                        "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c LEFT JOIN pg_inherits i "
                        "ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent "
                        "WHERE coalesce(p.relname, c.relname) = ANY(:tables) AND c.relkind IN ('r', 'p')"
                    ),
                    {"tables": list(tables)},
                ).scalar_one()
            )

    def reclaim(self, tables: Sequence[str] = _COMPACTED) -> None:
        """Give back the space of what compaction removed, as vacuum and dropping of partitions do in time."""
        with db.make_engine(self.postgres.url("jitterscope")).connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("SET statement_timeout = 0"))
            for table in tables:
                connection.execute(text(f"VACUUM (FULL, ANALYZE) {table}"))

    def stored_samples(self) -> int:
        """Ticks that the database has, landed or compacted; counts those of rows, missing ones included."""
        with db.organization_session(self.organization_id) as session:
            return int(
                session.execute(
                    text(
                        "SELECT (SELECT coalesce(sum(tick_count), 0) FROM series_segments) + (SELECT coalesce(sum("
                        "b.tick_count::bigint * cardinality(l.series_ids)), 0) FROM series_blocks b "
                        "JOIN series_layouts l ON l.id = b.layout_id)"
                    )
                ).scalar_one()
            )

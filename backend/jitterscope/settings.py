"""Configuration from the environment (JITTERSCOPE_*). Read once; tests override with `override_settings`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

REPOSITORY = Path(__file__).resolve().parents[2]


class Settings(BaseSettings):
    """All settings. A missing database URL fails at first use, with the variable's name."""

    model_config = SettingsConfigDict(env_prefix="JITTERSCOPE_", extra="ignore")

    # Connects as jitterscope_app, the role that row-level security binds.
    database_url: SecretStr = Field(default=SecretStr(""), description="postgresql://jitterscope_app:…@host/database")
    # Connects as the owner of the schema; only migrations and bootstrap use it.
    owner_database_url: SecretStr = Field(default=SecretStr(""), description="postgresql://jitterscope_owner:…")
    database_pool_size: int = Field(default=12, ge=1, le=200)
    database_statement_timeout_s: float = Field(default=60.0, gt=0)
    valkey_url: str = "redis://127.0.0.1:6379/0"
    # Encrypts channel secrets at rest: 32 random bytes as URL-safe base64 (cryptography's Fernet key). Several with
    # commas between them while the key is rotated: the first one encrypts, all of them decrypt.
    secret_key: SecretStr = SecretStr("")
    # What browsers and notifications use to reach this service. If it is a loopback address, commands for other
    # machines have the URL by which the browser reached the service.
    public_url: str = "http://127.0.0.1:8000"
    frontend_dist: Path = REPOSITORY / "frontend" / "dist"
    # Holds jitterscope-collector, and jitterscope-collector-linux-ARCH for other machines.
    collector_folder: Path = REPOSITORY / "bin"
    state_dir: Path = REPOSITORY / ".run"
    session_ttl_s: int = Field(default=7 * 24 * 3600, ge=60)
    # Sign-in attempts per minute for one account: from one network, and from a browser that has signed in to it before.
    login_attempts_per_minute: int = Field(default=10, ge=1)
    # Sign-in attempts per minute from one network, over all accounts.
    login_attempts_per_network: int = Field(default=100, ge=1)
    # Addresses and networks of proxies whose X-Forwarded-For is trusted, separated by commas; "*": all.
    trusted_proxies: str = ""
    # How long the API answers requests after SIGTERM, until load balancers and clients have moved to other processes.
    drain_seconds: float = Field(default=0.0, ge=0, le=600)
    # Email for invitations and for links that verify an address. Without a host, invitation links are handed over by
    # hand and no address is verified.
    smtp_host: str = ""
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    smtp_user: str = ""
    smtp_password: SecretStr = SecretStr("")
    mail_from: str = "jitterscope@localhost"
    # Event streams that one user or token can have open at once, over all API processes.
    streams_per_caller: int = Field(default=20, ge=1)
    # Stored data that one task of a worker can hold for one organization at once.
    task_max_memory_bytes: int = Field(default=256 * 1024**2, ge=1024**2)
    # Limits of one organization: requests above them get 429, warnings start at 80 %.
    limit_series: int = Field(default=5_000_000, ge=1)
    limit_external_series: int = Field(default=5_000_000, ge=1)
    limit_nodes: int = Field(default=5_000, ge=1)
    limit_resources_per_min: int = Field(default=300_000, ge=1)
    limit_samples_per_min: int = Field(default=1_000_000_000, ge=1)
    limit_ingest_bytes_per_min: int = Field(default=6 * 1024**3, ge=1)
    limit_unpacked_bytes_per_min: int = Field(default=12 * 1024**3, ge=1)
    limit_diagnoses_per_min: int = Field(default=3_000, ge=1)
    limit_requests_per_min: int = Field(default=12_000, ge=1)
    limit_changes_per_min: int = Field(default=120, ge=1)
    limit_streams: int = Field(default=500, ge=1)
    ingest_max_body_bytes: int = Field(default=8 * 1024 * 1024, ge=1024)
    ingest_max_batch_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    # Longest retention that an organization can choose, by level, and the greatest age of accepted samples, in days.
    retention_max_raw_days: int = Field(default=30, ge=1, le=1000)
    retention_max_second_days: int = Field(default=180, ge=1, le=1000)
    retention_max_minute_days: int = Field(default=800, ge=1, le=1000)
    ingest_oldest_days: int = Field(default=7, ge=1, le=1000)
    # How much a diagnosis looks at, and how long a symptom must stay away before its incident is resolved (data time).
    diagnosis_window_s: float = Field(default=120.0, ge=10, le=900)
    # DNS servers and nodes are also diagnosed this often without a trigger: some of their causes have none.
    scheduled_diagnosis_every_s: float = Field(default=60.0, ge=5, le=600)
    incident_quiet_s: float = Field(default=600.0, ge=1)
    # After a fix: how long it may take to settle, and the least comparable data that a verdict needs (data time).
    verification_settle_s: float = Field(default=10.0, ge=0, le=600)
    verification_least_s: float = Field(default=60.0, ge=20, le=3600)
    # Webhooks may go to loopback and private addresses: for tests, demos and receivers inside your network.
    notify_allow_private_targets: bool = False
    # Notifications go through this HTTP proxy: http://user:password@host:port.
    notify_proxy_url: SecretStr = SecretStr("")
    notify_timeout_s: float = Field(default=15.0, gt=0, le=60)
    notify_max_attempts: int = Field(default=12, ge=1, le=100)
    # About incidents, for each organization, each to up to 20 recipients: they leave through your mail server.
    notify_emails_per_hour: int = Field(default=60, ge=1)
    # Uploaded evidence files: API and workers must see the same folder. None: "evidence" in state_dir.
    evidence_folder: Path | None = None
    evidence_max_bytes: int = Field(default=4 * 1024**3, ge=1024)
    # All files that an organization keeps, and how long each is kept; results stay.
    evidence_max_kept_bytes: int = Field(default=20 * 1024**3, ge=1024)
    evidence_keep_s: float = Field(default=7 * 24 * 3600, ge=0)
    # Limits for the analysis of one file: memory, CPU, time, and its unpacked size.
    evidence_max_memory_bytes: int = Field(default=1024**3, ge=64 * 1024**2)
    evidence_max_cpu_s: int = Field(default=900, ge=1)
    evidence_max_wall_s: int = Field(default=1800, ge=1)
    evidence_max_unpacked_bytes: int = Field(default=16 * 1024**3, ge=1024)
    # Logs compress 10 to 50 times: a file that unpacks to more than this many times its size is made to do so.
    evidence_max_inflation: int = Field(default=100, ge=1)
    # Files of one organization that are analyzed at once, so that workers stay free for others.
    evidence_at_once: int = Field(default=2, ge=1)
    # HOST:PORT of /metrics of this API process or worker; empty: nowhere. Keep it inside your network.
    metrics_listen: str = ""
    # front: this API process starts a second one, "bulk", for organizations that keep expensive requests running.
    api_lane: Literal["only", "front", "bulk"] = "only"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "text"] = "json"

    @property
    def evidence_path(self) -> Path:
        """Where uploaded evidence files lie."""
        return self.evidence_folder or self.state_dir / "evidence"

    @property
    def cookie_secure(self) -> bool:
        """Session cookies travel over TLS only where the service is reached by TLS."""
        return self.public_url.startswith("https://")


_current: Settings | None = None
_when_replaced: list[Callable[[], None]] = []


def settings() -> Settings:
    """The process-wide settings."""
    global _current
    if _current is None:
        _current = Settings()
    return _current


@contextmanager
def override_settings(replacement: Settings) -> Iterator[Settings]:
    """Use other settings inside the block (tests, embedded stacks)."""
    global _current
    before, _current = _current, replacement
    _tell()
    try:
        yield replacement
    finally:
        _current = before
        _tell()


def when_replaced(forget: Callable[[], None]) -> None:
    """Call `forget` whenever other settings come into force: what was made from the old ones is stale then."""
    _when_replaced.append(forget)


def _tell() -> None:
    for forget in _when_replaced:
        forget()

"""Images of the backend and of a trial's servers, on Debian, as in their Dockerfiles, with files that are built here.

The backend runs on Debian 12, whose Python version is the Dockerfile's; TimescaleDB and Valkey are Debian 13's.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from jitterscope.devstack import debian, flavours
from jitterscope.schema import runner
from jitterscope.settings import REPOSITORY
from labs import built, packages
from labs.errors import LabError
from labs.kubernetes.images import SYSTEM_PATH, Folder, Image, of_dockerfile

_CHART = REPOSITORY / "helm" / "jitterscope"
_PYTHON = "python:3.11-slim-trixie"
_TRIAL = Path(__file__).with_name("programs") / "trial"
NEWER = "newer"
_MIGRATION = """from alembic import op

revision = "newer"
down_revision = {after!r}
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("CREATE TABLE newer (id bigint PRIMARY KEY)")
"""
_SERVERS = "/usr/lib/postgresql/17/bin"
# A new volume takes the owner from the image's folder; numbers as in the upstream images, and in trial/passwd.
_DATABASE, _POSTGRES, _VALKEY = "/var/lib/postgresql/data", 70, (999, 1000)
# What the Dockerfile's stage "backend" copies from the folder of the same name.
_SOURCES = ("pyproject.toml", "uv.lock", "jitterscope")
_ENVIRONMENT = {
    "UV_LINK_MODE": "copy",
    "UV_COMPILE_BYTECODE": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_CACHE_DIR": "/tmp/uv-cache",  # noqa: S108 - of the system that it runs in
    "HOME": "/root",
    "PATH": SYSTEM_PATH,
}
# Of this machine, so that its own proxy or package index is used in there as well.
_PASSED_ON = ("UV_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
# $1: Debian's root, $2: a folder for the changes to it, $3: the backend's folder, $4: uv, $5: its cache.
_IN_DEBIAN = """
mkdir -p "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
mkdir -p "$2/root/app/backend" "$2/root/tmp/uv-cache"
mount --bind "$3" "$2/root/app/backend"
mount --bind "$5" "$2/root/tmp/uv-cache"
mount -t proc proc "$2/root/proc"
cp "$4" "$2/root/usr/local/bin/uv"
cp /etc/resolv.conf "$2/root/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$2/root/etc/ssl/certs/ca-certificates.crt"
exec chroot "$2/root" sh -euc "cd /app/backend && exec uv sync -q --frozen --no-dev --python /usr/bin/python3"
"""


def images() -> list[Image]:
    """What a chart with `trial.enabled` runs beside the collector, and the backend's next version, NEWER."""
    backend = product()
    return [backend, _newer(backend), *servers()]


def product(checkout: Path = REPOSITORY, place: str = "backend") -> Image:
    """The backend of a checkout, under the name that the chart uses.

    UI and Go programs are those that are built here. `place`: folder in the cache, one for each kind of checkout.
    """
    text = (_CHART / "values.yaml").read_text()
    repository = _value(text, r"^image:\n(?:  .*\n)*?  repository: (\S+)")
    folder = packages.cache("kubernetes") / place
    frontend = REPOSITORY / "frontend" / "dist"
    if not (frontend / "index.html").exists():
        raise LabError("The UI is not built: run `make build`.")
    python = debian.system("python3.11", "bookworm", ("python3", "ca-certificates"))
    made = {
        ("backend", "/app/backend"): _synced(checkout, folder / "app", python),
        ("frontend", "/app/frontend/dist"): frontend,
        ("collector", "/app/bin"): _binaries(folder / "bin"),
    }
    return of_dockerfile(checkout / "Dockerfile", f"{repository}:{version()}", made, {_PYTHON: python})


def servers() -> list[Image]:
    """TimescaleDB and Valkey."""
    text = (_CHART / "values.yaml").read_text()
    timescaledb = _timescaledb(_value(text, r"^  timescaledb:\n    image: (\S+)"))
    return [timescaledb, _valkey(_value(text, r"^  valkey:\n    image: (\S+)"))]


def version() -> str:
    """The chart's appVersion, which is the images' tag."""
    return _value((_CHART / "Chart.yaml").read_text(), r"^appVersion: (\S+)")


def _value(text: str, pattern: str) -> str:
    """A value of a YAML text, by pattern: a YAML parser is only in the development packages."""
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise LabError(f"The chart has nothing like {pattern}.")
    return found[1]


def _newer(backend: Image) -> Image:
    """The same with one more migration, which the older version does not know."""
    migration = packages.cache("kubernetes") / "backend" / "newer.py"
    migration.write_text(_MIGRATION.format(after=runner.heads()))
    files = {**backend.files, "/app/migrations/versions/newer.py": migration}
    return replace(backend, name=f"{backend.name.rpartition(':')[0]}:{NEWER}", files=files)


def _synced(checkout: Path, folder: Path, python: Path) -> Path:
    """The checkout's backend with its libraries, as the Dockerfile's stage "backend" installs them."""
    uv = shutil.which("uv", path=f"{REPOSITORY / '.tools' / 'bin'}:{os.environ.get('PATH', '')}")
    if uv is None:
        raise LabError("uv is missing: run `make build`.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in _SOURCES:
        source, target = checkout / "backend" / name, folder / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "scenarios"))
        else:
            shutil.copyfile(source, target)
    cache = Path(packages.run([uv, "cache", "dir"]).strip())
    cache.mkdir(parents=True, exist_ok=True)
    passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
    told = [f"{name}={value}" for name, value in {**passed, **_ENVIRONMENT}.items()]
    changes = folder.with_name("changes")
    shutil.rmtree(changes, ignore_errors=True)
    where = [str(python), str(changes), str(folder), uv, str(cache)]
    # The mounts end with their namespace.
    apart = ["unshare", "--mount", "--propagation=private", "env", "-i", *told, "sh", "-euc", _IN_DEBIAN, "sh"]
    packages.run([*apart, *where])
    shutil.rmtree(changes)
    return folder


def _binaries(folder: Path) -> Path:
    """The programs built for this machine; the Dockerfile also builds the collector for arm64."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    collector = built.program("jitterscope-collector", "JITTERSCOPE_COLLECTOR")
    shutil.copy2(collector, folder / "jitterscope-collector-linux-amd64")
    shutil.copy2(built.program("jitterscope-evidence", "JITTERSCOPE_EVIDENCE"), folder / "jitterscope-evidence")
    return folder


def _timescaledb(name: str) -> Image:
    root = flavours.timescaledb().root
    assert root is not None
    return Image(
        name,
        {"/usr/local/bin/entrypoint": _TRIAL / "postgres.sh", "/etc/passwd": _TRIAL / "passwd"},
        {_DATABASE: Folder(0o700, _POSTGRES, _POSTGRES)},
        entrypoint=["/usr/local/bin/entrypoint"],
        stop_signal="SIGINT",  # as upstream: on SIGTERM it waits until all clients have left
        environment={"PATH": f"{_SERVERS}:{SYSTEM_PATH}", "PGDATA": _DATABASE},
        on=root,
    )


def _valkey(name: str) -> Image:
    root = debian.system("valkey", "trixie", ("valkey-server", "valkey-tools"))
    return Image(name, {"/etc/passwd": _TRIAL / "passwd"}, {"/data": Folder(0o755, *_VALKEY)}, on=root)

"""The collector's installer and binary, which the one-line install downloads. Neither holds a secret."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from starlette.responses import FileResponse, PlainTextResponse

from jitterscope.bounds import FILES, bounded
from jitterscope.errors import Problem
from jitterscope.kit.declared import anyone
from jitterscope.settings import REPOSITORY, settings

router = APIRouter(
    prefix="/collectors",
    tags=["collectors"],
    include_in_schema=False,
    dependencies=[anyone("the installer and the binary hold no secret")],
)
_SCRIPT = Path(__file__).with_name("install_collector.sh")
# The one unit: packages ship it, and the script installs it.
_UNIT = REPOSITORY / "collector" / "systemd" / "jitterscope-collector.service"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@router.get("/install.sh")
@bounded(FILES)
def install_script() -> PlainTextResponse:
    """The installer script; the command that downloads it passes the server and the token."""
    script = _SCRIPT.read_text().replace("@UNIT@\n", _UNIT.read_text())
    return PlainTextResponse(script, media_type="text/x-shellscript")


@router.get("/download/{arch}")
@bounded(FILES)
def download_collector(arch: Literal["amd64", "arm64"]) -> FileResponse:
    """The static collector binary for an architecture."""
    folder = settings().collector_folder
    specific, own = folder / f"jitterscope-collector-linux-{arch}", folder / "jitterscope-collector"
    # The plain name is the binary that this machine built for itself.
    found = specific if specific.is_file() else own if _MACHINES.get(platform.machine()) == arch else None
    if found is None or not found.is_file():
        raise Problem(
            404,
            "no-collector-binary",
            "No collector for this architecture",
            f"This installation has no collector for linux/{arch}.",
            f"Build it: make build-collector ARCH={arch}",
        )
    return FileResponse(found, media_type="application/octet-stream")

"""The labs' Go programs (collector/cmd), which `make build` leaves in bin/."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from jitterscope.settings import REPOSITORY
from labs.errors import LabError


def program(name: str, variable: str) -> Path:
    """The path of that program, built if missing; the environment `variable` overrides it."""
    given = os.environ.get(variable)
    if given:
        return Path(given)
    built = REPOSITORY / "bin" / name
    if not built.exists():
        try:
            subprocess.run(
                ["go", "build", "-o", str(built), f"./cmd/{name}"],
                cwd=REPOSITORY / "collector",
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "CGO_ENABLED": "0"},
            )
        except (OSError, subprocess.CalledProcessError) as error:
            detail = getattr(error, "stderr", None) or error
            raise LabError(f"{name} is not built: run `make build`. ({detail})") from error
    return built


def fault() -> Path:
    """The path of jitterscope-fault."""
    return program("jitterscope-fault", "JITTERSCOPE_FAULT")

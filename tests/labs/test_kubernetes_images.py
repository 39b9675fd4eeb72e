"""Images of the cluster match the Dockerfiles; what the lab cannot follow is rejected."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from jitterscope.settings import REPOSITORY
from labs.errors import LabError
from labs.kubernetes import images

PYTHON = "python:3.11-slim-trixie"


@pytest.fixture
def built(tmp_path: Path) -> dict[tuple[str, str], Path]:
    """Something for each COPY --from in the backend's last stage."""
    found = {}
    for stage, path in (("backend", "/app/backend"), ("frontend", "/app/frontend/dist"), ("collector", "/app/bin")):
        folder = tmp_path / stage
        folder.mkdir()
        (folder / "file").write_text(stage)
        found[(stage, path)] = folder
    return found


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "debian"
    for file in ("usr/bin/python3", "usr/share/doc/python3/copyright", "var/lib/apt/lists/index"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file)
    return root


def test_the_backend_is_what_its_dockerfile_says(
    tmp_path: Path, built: dict[tuple[str, str], Path], debian: Path
) -> None:
    image = images.of_dockerfile(REPOSITORY / "Dockerfile", "jitterscope:0.1.0", built, {PYTHON: debian})
    archive = tmp_path / "image.tar"
    image.write(archive)
    with tarfile.open(archive) as saved:
        read = saved.extractfile("manifest.json")
        assert read is not None
        [manifest] = json.load(read)
        read = saved.extractfile(manifest["Config"])
        assert read is not None
        config = json.load(read)
        layers = []
        for place in manifest["Layers"]:
            with tarfile.open(fileobj=saved.extractfile(place)) as layer:
                layers.append({one.name.removeprefix("./"): one for one in layer})
    told = config["config"]
    assert manifest["RepoTags"] == ["jitterscope:0.1.0"]
    assert (told["User"], told["WorkingDir"]) == ("10001:10001", "/app/backend")
    assert told["Cmd"][:3] == ["uvicorn", "--factory", "jitterscope.main:create_app"]
    environment = dict(one.split("=", 1) for one in told["Env"])
    assert environment["PATH"].startswith("/app/backend/.venv/bin:/usr/local/sbin:")
    assert environment["JITTERSCOPE_API_LANE"] == "front"
    # Debian is below, without what no program needs.
    assert "usr/bin/python3" in layers[0]
    assert not {"usr/share/doc/python3", "var/lib/apt/lists/index"} & layers[0].keys()
    own = layers[1]
    assert {"app/backend/file", "app/frontend/dist/file", "app/bin/file", "app/migrations/helpers.py"} <= own.keys()
    assert not [name for name in own if "__pycache__" in name]
    folder = own["evidence"]
    assert (folder.isdir(), folder.mode, folder.uid, folder.gid) == (True, 0o700, 10001, 10001)
    assert own["app/backend/file"].uid == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FROM alpine\n", "nothing like alpine"),
        ("FROM scratch\nRUN rm -rf /tmp/x\n", "RUN rm -rf"),
        ("FROM scratch\nCOPY --from=build /a /a\n", "copies /a from build"),
        ("FROM scratch\nCOPY --chown=1:1 a /a\n", "COPY --chown"),
        ("FROM scratch\nVOLUME /data\n", "VOLUME"),
    ],
)
def test_what_the_lab_cannot_follow_is_refused(tmp_path: Path, text: str, why: str) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(text)
    with pytest.raises(LabError, match=why):
        images.of_dockerfile(dockerfile, "a:1", {})

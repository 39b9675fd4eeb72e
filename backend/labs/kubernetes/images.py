"""Images without a registry and without Docker: archives of `docker save`, which container runtimes import.

An image of the product is made by what its own Dockerfile says of its last stage, with files that are built here.
"""

from __future__ import annotations

import hashlib
import io
import json
import shlex
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labs.errors import LabError


@dataclass(slots=True)
class Image:
    """`files`: path in the image → file here. Everything belongs to root."""

    name: str
    files: dict[str, Path] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    user: str = ""
    working_directory: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def write(self, archive: Path) -> None:
        """Write the archive."""
        layer = archive.with_suffix(".layer")
        with tarfile.open(layer, "w") as tar:
            for folder in self._folders():
                made = tarfile.TarInfo(f"{folder}/")
                made.type, made.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(made)
            for path, source in sorted(self.files.items()):
                tar.add(source.resolve(), arcname=path.lstrip("/"), filter=_of_root)
        with layer.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        config = json.dumps(self._config(digest)).encode()
        name, place = f"{hashlib.sha256(config).hexdigest()}.json", f"{digest}/layer.tar"
        manifest = json.dumps([{"Config": name, "RepoTags": [self.name], "Layers": [place]}]).encode()
        with tarfile.open(archive, "w") as tar:
            for told, data in ((name, config), ("manifest.json", manifest)):
                info = tarfile.TarInfo(told)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            tar.add(layer, arcname=place, filter=_of_root)
        layer.unlink()

    def _folders(self) -> list[str]:
        found = {str(parent) for path in self.files for parent in Path(path.lstrip("/")).parents}
        return sorted(found - {"."})

    def _config(self, layer: str) -> dict[str, object]:
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **self.environment}
        told = {
            "Entrypoint": self.entrypoint,
            "Cmd": self.command,
            "User": self.user,
            "WorkingDir": self.working_directory,
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Labels": self.labels,
        }
        return {
            "architecture": "amd64",
            "os": "linux",
            "config": {name: value for name, value in told.items() if value},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
        }


def of_dockerfile(dockerfile: Path, name: str, built: Mapping[tuple[str, str], Path]) -> Image:
    """The image that the last stage of a Dockerfile makes on an empty one.

    `built` says which file here a `COPY --from=STAGE PATH` means. Raises LabError for whatever it cannot follow: an
    image that says something else than the Dockerfile would test nothing.
    """
    stage = _last_stage(dockerfile.read_text())
    if stage[0] != ("FROM", "scratch"):
        raise LabError(f"{dockerfile}: the last stage is not made from scratch.")
    image = Image(name)
    for instruction, rest in stage[1:]:
        match instruction:
            case "COPY":
                origin, source, target = _copied(rest, dockerfile)
                if (origin, source) not in built:
                    raise LabError(f"{dockerfile} copies {source} from {origin}, which the lab does not build.")
                image.files[target] = built[(origin, source)]
            case "ENTRYPOINT":
                image.entrypoint = _list(rest)
            case "CMD":
                image.command = _list(rest)
            case "USER":
                image.user = rest
            case "WORKDIR":
                image.working_directory = rest
            case "ENV":
                image.environment.update(_pairs(rest))
            case "LABEL":
                image.labels.update(_pairs(rest))
            case "EXPOSE":
                pass
            case _:
                raise LabError(f"{dockerfile}: the lab cannot follow {instruction} in the last stage.")
    return image


def _last_stage(text: str) -> list[tuple[str, str]]:
    joined = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")).replace("\\\n", " ")
    instructions: list[tuple[str, str]] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = line.partition(" ")
        if word.upper() == "FROM":
            instructions.clear()
        instructions.append((word.upper(), rest.strip()))
    return instructions


def _copied(rest: str, dockerfile: Path) -> tuple[str, str, str]:
    words = shlex.split(rest)
    if len(words) != 3 or not words[0].startswith("--from="):
        raise LabError(f"{dockerfile}: the lab cannot follow COPY {rest}.")
    return words[0].removeprefix("--from="), words[1], words[2]


def _list(rest: str) -> list[str]:
    words = json.loads(rest)
    return [str(word) for word in words]


def _pairs(rest: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(rest))


def _of_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info

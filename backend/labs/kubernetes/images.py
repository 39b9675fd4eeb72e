"""Images without a registry and without Docker: archives as from `docker save`, which container runtimes import.

An image of the product follows the last stage of its own Dockerfile, with files that are built here.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shlex
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labs import packages
from labs.errors import LabError

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Parts of a distribution that no program needs, or that the container's own mounts hide.
_LEFT_OUT = re.compile(r"(var/cache/apt|var/lib/apt/lists|usr/share/(doc|man|locale)|proc|sys|dev|tmp|boot)/.")
_COMPILED = "__pycache__"


@dataclass(frozen=True, slots=True)
class Folder:
    """An empty folder of an image."""

    mode: int
    user: int = 0
    group: int = 0


@dataclass(slots=True)
class Image:
    """An image's content.

    `files`: path in the image → file or folder here, owned by root. `on`: the root folder of a distribution below them.
    """

    name: str
    files: dict[str, Path] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    user: str = ""
    stop_signal: str = ""
    working_directory: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    on: Path | None = None

    def write(self, archive: Path) -> None:
        """Write the archive."""
        own = archive.with_suffix(".layer")
        self._write_own(own)
        layers = [own] if self.on is None else [_layer_of(self.on), own]
        digests = [_digest(layer) for layer in layers]
        config = json.dumps(self._config(digests)).encode()
        name, places = f"{hashlib.sha256(config).hexdigest()}.json", [f"{digest}/layer.tar" for digest in digests]
        manifest = json.dumps([{"Config": name, "RepoTags": [self.name], "Layers": places}]).encode()
        with tarfile.open(archive, "w") as tar:
            for told, data in ((name, config), ("manifest.json", manifest)):
                info = tarfile.TarInfo(told)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            for layer, place in zip(layers, places, strict=True):
                tar.add(layer, arcname=place, filter=_of_root)
        own.unlink()

    def _write_own(self, layer: Path) -> None:
        with tarfile.open(layer, "w") as tar:
            for folder in self._folders():
                tar.addfile(_folder(folder, Folder(0o755)))
            for path, source in sorted(self.files.items()):
                tar.add(source.resolve(), arcname=path.lstrip("/"), filter=_of_root)
            for path, made in self.folders.items():
                tar.addfile(_folder(path.lstrip("/"), made))

    def _folders(self) -> list[str]:
        found = {str(parent) for path in self.files for parent in Path(path.lstrip("/")).parents}
        return sorted(found - {"."})

    def _config(self, layers: Sequence[str]) -> dict[str, object]:
        environment = {"PATH": SYSTEM_PATH, **self.environment}
        told = {
            "Entrypoint": self.entrypoint,
            "Cmd": self.command,
            "User": self.user,
            "StopSignal": self.stop_signal,
            "WorkingDir": self.working_directory,
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Labels": self.labels,
        }
        return {
            "architecture": "amd64",
            "os": "linux",
            "config": {name: value for name, value in told.items() if value},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}" for layer in layers]},
        }


def _layer_of(root: Path) -> Path:
    """The layer of a distribution, written once: its folder does not change."""
    layer = packages.cache("kubernetes") / f"{root.name}.layer"
    if not layer.exists():
        partial = layer.with_suffix(f".{os.getpid()}")
        with tarfile.open(partial, "w") as tar:
            tar.add(root, arcname=".", filter=_of_distribution)
        partial.replace(layer)
    return layer


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _folder(path: str, made: Folder) -> tarfile.TarInfo:
    info = tarfile.TarInfo(f"{path}/")
    info.type, info.mode, info.uid, info.gid = tarfile.DIRTYPE, made.mode, made.user, made.group
    return info


def of_dockerfile(
    dockerfile: Path, name: str, built: Mapping[tuple[str, str], Path], on: Mapping[str, Path] | None = None
) -> Image:
    """The image of a Dockerfile's last stage, on an empty image or on one that is in `on`.

    `built` maps each path of a `COPY --from=STAGE PATH` to a file or folder here, `on` an image of FROM to a root
    folder. Raises LabError for whatever it cannot follow: an image that differs from its Dockerfile would test nothing.
    """
    stage = _last_stage(dockerfile.read_text())
    image = Image(name)
    base = stage[0][1]
    if base != "scratch":
        if base not in (on or {}):
            raise LabError(f"{dockerfile}: the lab has nothing like {base}, which the last stage is made from.")
        image.on = (on or {})[base]
    for instruction, rest in stage[1:]:
        match instruction:
            case "COPY":
                origin, source, target = _copied(rest, dockerfile)
                if origin and (origin, source) not in built:
                    raise LabError(f"{dockerfile} copies {source} from {origin}, which the lab does not build.")
                image.files[target] = built[(origin, source)] if origin else dockerfile.parent / source
            case "RUN":
                path, made = _made_folder(rest, dockerfile)
                image.folders[path] = made
            case "ENTRYPOINT":
                image.entrypoint = _list(rest)
            case "CMD":
                image.command = _list(rest)
            case "USER":
                image.user = rest
            case "WORKDIR":
                image.working_directory = rest
            case "ENV":
                image.environment.update(_variables(rest))
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
    """Stage (empty: the build context), source, and target."""
    words = shlex.split(rest)
    stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
    if len(words) != 2 or words[0].startswith("--"):
        raise LabError(f"{dockerfile}: the lab cannot follow COPY {rest}.")
    return stage, words[0], words[1]


def _made_folder(rest: str, dockerfile: Path) -> tuple[str, Folder]:
    found = re.fullmatch(r"mkdir -m (\d+) (/\S+) && chown (\d+):(\d+) \2", rest)
    if found is None:
        raise LabError(f"{dockerfile}: the lab cannot follow RUN {rest} in the last stage.")
    return found[2], Folder(int(found[1], 8), int(found[3]), int(found[4]))


def _list(rest: str) -> list[str]:
    words = json.loads(rest)
    return [str(word) for word in words]


def _pairs(rest: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(rest))


def _variables(rest: str) -> dict[str, str]:
    return {name: value.replace("$PATH", SYSTEM_PATH) for name, value in _pairs(rest).items()}


def _of_root(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return None if Path(info.name).name == _COMPILED and "/site-packages/" not in info.name else info


def _of_distribution(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if _LEFT_OUT.match(info.name.removeprefix("./")) or info.isdev() else info

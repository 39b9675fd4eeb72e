"""Generated code of the protobuf contracts: Python and Go for ingest.proto, Python for Prometheus remote write."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path


def generate(root: Path) -> dict[Path, str]:
    """Code of the protobuf schemas, by path below the repository root."""
    proto = root / "contracts" / "ingest" / "v1" / "ingest.proto"
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        for sub in ("py", "go"):
            (out / sub).mkdir()
        plugin = out / "protoc-gen-go"
        subprocess.run(
            ["go", "build", "-o", str(plugin), "google.golang.org/protobuf/cmd/protoc-gen-go"],
            cwd=root / "collector",
            check=True,
        )
        subprocess.run(
            [
                sys.executable,
                "-m",
                "grpc_tools.protoc",
                f"-I{proto.parent}",
                f"--plugin={plugin}",
                f"--python_out={out / 'py'}",
                f"--pyi_out={out / 'py'}",
                f"--go_out={out / 'go'}",
                "--go_opt=paths=source_relative",
                proto.name,
            ],
            check=True,
        )
        package = Path("backend/jitterscope/pb")
        # The plugin's protoc version line differs between machines and says nothing about the schema.
        go_code = re.sub(r"^// \tprotoc .*\n", "", (out / "go/ingest.pb.go").read_text(), flags=re.M)
        return {
            package / "ingest_pb2.py": (out / "py/ingest_pb2.py").read_text(),
            package / "ingest_pb2.pyi": (out / "py/ingest_pb2.pyi").read_text(),
            package / "__init__.py": "",
            Path("collector/internal/ingestpb/ingest.pb.go"): go_code,
            **_remote_write(root, out, package),
        }


def _remote_write(root: Path, out: Path, package: Path) -> dict[Path, str]:
    """Only the backend speaks Prometheus remote write."""
    folder = root / "contracts" / "remote_write"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={out}", f"--pyi_out={out}"]
    names = sorted(path.stem for path in folder.glob("*.proto"))
    subprocess.run([*command, *(f"{name}.proto" for name in names)], check=True)
    files = [f"{name}_pb2{suffix}" for name in names for suffix in (".py", ".pyi")]
    return {package / file: (out / file).read_text() for file in files}

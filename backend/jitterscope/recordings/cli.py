"""`jitterscope record` and `jitterscope replay`."""

from __future__ import annotations

import os
import re
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Annotated, NoReturn

import httpx
import typer

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.errors import Problem
from jitterscope.kit.instant import BadInstant, parse_us
from jitterscope.recordings import capture, file
from jitterscope.recordings import replay as replays
from jitterscope.recordings.merge import BadRecording
from jitterscope.recordings.snapshots import snapshot_of

app = typer.Typer()
_RELATIVE = re.compile(r"-(\d+(?:\.\d+)?)(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}

TokenFile = Annotated[Path | None, typer.Option(help="File with the token (default: JITTERSCOPE_TOKEN)")]


@app.command()
def record(
    resource: Annotated[list[int], typer.Option(help="Id of a node, cgroup, process, or DNS server; repeatable")],
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write")],
    from_: Annotated[str, typer.Option("--from", help="2026-11-21T09:30:00Z, µs since the epoch, or -10m")] = "-2m",
    to: Annotated[str, typer.Option(help="Same formats as --from, or now")] = "now",
    service: Annotated[str | None, typer.Option(help="URL of the service; without it, the database")] = None,
    token: Annotated[str | None, typer.Option(help="API token (better: --token-file)")] = None,
    token_file: TokenFile = None,
    organization: Annotated[int, typer.Option(help="Organization, when reading the database")] = 1,
    label: Annotated[list[str] | None, typer.Option(help="Label NAME=VALUE kept in the file; repeatable")] = None,
) -> None:
    """Record a window of resources and their neighbors (series, facts, events, queries) into one small file."""
    from_us, to_us = _instant(from_), _instant(to)
    try:
        if service is not None:
            query: dict[str, str | list[int]] = {"resource": resource, "from": str(from_us), "to": str(to_us)}
            headers = {"Authorization": f"Bearer {_token(token, token_file)}"}
            response = httpx.get(f"{service.rstrip('/')}/api/v1/recordings", params=query, headers=headers, timeout=120)
            response.raise_for_status()
            output.write_bytes(response.content)
        else:
            labels = dict(item.partition("=")[::2] for item in label or [])
            with organization_session(organization) as session:
                recording = capture.capture(session, resource, from_us, to_us, labels)
            file.save(recording, output)
    except Problem as error:
        _fail(f"{error}. {error.what_to_do or ''}")
    except httpx.HTTPStatusError as error:
        _fail(f"HTTP {error.response.status_code}: {error.response.text[:500]}")
    except httpx.HTTPError as error:
        _fail(f"{service} cannot be reached: {error}")
    recording = file.load(output)
    print(
        f"{output}: {output.stat().st_size} bytes, {recording.ticks / 10:.1f} s of {len(recording.resources)} "
        f"resources, subject {recording.resources[recording.subject].name}"
    )


@app.command()
def replay(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Recordings")],
    to_service: Annotated[str | None, typer.Option(help="URL of a running service that receives the recording")] = None,
    token: Annotated[str | None, typer.Option(help="Ingest token (better: --token-file)")] = None,
    token_file: TokenFile = None,
    speed: Annotated[
        float, typer.Option(min=0, help="Speed; 1: as recorded, 0: everything immediately, ending now")
    ] = 1.0,
    node_suffix: Annotated[
        str, typer.Option(help="Suffix of the node's key, to tell it from the real node")
    ] = "-replay",
    loop: Annotated[bool, typer.Option(help="Repeat until interrupted")] = False,
    nodes: Annotated[int, typer.Option(min=1, help="Number of nodes to replay as; the files take turns")] = 1,
    engine: Annotated[bool, typer.Option(help="Run the engine directly and print its findings as JSON")] = False,
) -> None:
    """Replay recordings into a running service, shifted to now, or directly into the engine."""
    try:
        recordings = [file.load(path) for path in paths]
    except (BadRecording, OSError) as error:
        _fail(str(error))
    if engine:
        for recording in recordings:
            print(diagnose(snapshot_of(recording)).model_dump_json(indent=2))
        return
    if to_service is None:
        _fail("missing destination: give --to-service URL or --engine")
    suffixes = [node_suffix] if nodes == 1 else [f"{node_suffix}-{number}" for number in range(1, nodes + 1)]
    if nodes == 1 and len(paths) > 1:
        suffixes = [f"{node_suffix}-{number}" for number in range(1, len(paths) + 1)]
    try:
        replays.replay_nodes(
            dict(zip(suffixes, cycle(recordings), strict=False)), to_service, _token(token, token_file), speed=speed,
            loop=loop, tell=_tell,
        )  # fmt: skip
    except replays.ReplayFailed as error:
        _fail(str(error))


def _tell(done: replays.Replayed) -> None:
    print(f"{done.batches} batches stored as node {done.node_key}, {done.from_us} to {done.to_us} µs", flush=True)


def _token(token: str | None, token_file: Path | None) -> str:
    if token_file is not None:
        return token_file.read_text().strip()
    found = token or os.environ.get("JITTERSCOPE_TOKEN", "")
    if not found:
        _fail("missing token: give --token-file, --token or JITTERSCOPE_TOKEN")
    return found


def _instant(text: str) -> int:
    if text == "now":
        return time.time_ns() // 1000
    match = _RELATIVE.fullmatch(text)
    if match:
        return time.time_ns() // 1000 - int(float(match[1]) * _SECONDS[match[2]] * 1e6)
    try:
        return parse_us(text)
    except BadInstant as error:
        _fail(str(error))


def _fail(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(1)

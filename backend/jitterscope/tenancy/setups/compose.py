"""The collector as a service of Docker Compose, with the rights that docs/privileges.md explains."""

from __future__ import annotations

from jitterscope.tenancy.setups.setup import TOKEN, Setup

IMAGE = "jitterscope-collector:0.1.0"


def setup(server: str) -> Setup:
    return Setup(
        name="compose", title="Compose", sends="ticks", file="compose.yml of the machine to watch",
        text=_text(server),
        next=f"Build the image in a checkout of Jitterscope: `docker build -t {IMAGE} collector`. Then run "
        "`docker compose up -d`.",
    )  # fmt: skip


def _text(server: str) -> str:
    return f"""\
services:
  jitterscope-collector:
    image: {IMAGE}
    restart: unless-stopped
    labels:
      app.kubernetes.io/part-of: jitterscope
    command: [run]
    environment:
      JITTERSCOPE_SERVER: {server}
      JITTERSCOPE_TOKEN: {TOKEN}
    pid: host
    network_mode: host
    cgroup: host
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    cap_add: [BPF, DAC_READ_SEARCH, NET_RAW, PERFMON, SYS_ADMIN, SYS_PTRACE, SYS_NICE, SYSLOG]
    security_opt: [no-new-privileges:true, apparmor:unconfined]
    ulimits: {{ nofile: 65536, memlock: -1 }}
    mem_limit: 256m
    volumes:
      - jitterscope-spool:/var/lib/jitterscope-collector
      - /sys/fs/cgroup:/sys/fs/cgroup:ro
      # For container names. Access to this socket means control of Docker.
      - /var/run/docker.sock:/run/docker.sock
volumes:
  jitterscope-spool:
"""

"""Writes captures byte by byte: raw IPv4 packets with TCP segments and DNS messages at chosen times."""

from __future__ import annotations

import struct
from pathlib import Path

SYN, ACK, PUSH_ACK, FIN_ACK = 0x02, 0x10, 0x18, 0x11
CLIENT, SERVER = "10.0.0.107", "172.20.13.4"


def message(id: int, name: str, *, answer: bool = False, rcode: int = 0) -> bytes:
    """A DNS query of type A, or its answer, with TCP's length prefix."""
    flags = (0x8180 | rcode) if answer else 0x0100
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.rstrip(".").split(".")) + b"\0"
    content = struct.pack("!6H", id, flags, 1, 0, 0, 0) + labels + struct.pack("!2H", 1, 1)
    return struct.pack("!H", len(content)) + content


class Capture:
    """Packets in any order, written by time. Sequence numbers are kept per direction of each connection."""

    def __init__(self) -> None:
        self._packets: list[tuple[int, bytes]] = []
        self._next: dict[tuple[int, bool], int] = {}

    def open(self, at_us: int, port: int) -> None:
        """The three packets of a handshake, 10 µs apart."""
        self._segment(at_us, port, to_server=True, flags=SYN)
        self._segment(at_us + 10, port, to_server=False, flags=SYN | ACK)
        self._segment(at_us + 20, port, to_server=True, flags=ACK)

    def ask(self, at_us: int, port: int, id: int, name: str) -> None:
        self._segment(at_us, port, to_server=True, flags=PUSH_ACK, content=message(id, name))

    def answer(self, at_us: int, port: int, id: int, name: str) -> None:
        self._segment(at_us, port, to_server=False, flags=PUSH_ACK, content=message(id, name, answer=True))

    def close(self, at_us: int, port: int) -> None:
        self._segment(at_us, port, to_server=True, flags=FIN_ACK)
        self._segment(at_us + 10, port, to_server=False, flags=FIN_ACK)

    def write(self, path: Path) -> Path:
        """pcap, µs, link type RAW (101)."""
        parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 101)]
        for at_us, packet in sorted(self._packets, key=lambda item: item[0]):
            parts.append(struct.pack("<4I", at_us // 1_000_000, at_us % 1_000_000, len(packet), len(packet)) + packet)
        path.write_bytes(b"".join(parts))
        return path

    def _segment(self, at_us: int, port: int, *, to_server: bool, flags: int, content: bytes = b"") -> None:
        sequence = self._next.get((port, to_server), 1000)
        acknowledged = self._next.get((port, not to_server), 0)
        self._next[port, to_server] = sequence + len(content) + (1 if flags & (SYN | 0x01) else 0)
        ports = (port, 53) if to_server else (53, port)
        tcp = struct.pack("!2H2I2B3H", *ports, sequence, acknowledged, 5 << 4, flags, 65_535, 0, 0) + content
        addresses = (CLIENT, SERVER) if to_server else (SERVER, CLIENT)
        raw = b"".join(bytes(map(int, address.split("."))) for address in addresses)
        ip = struct.pack("!2B3H2BH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + raw
        self._packets.append((at_us, ip + tcp))

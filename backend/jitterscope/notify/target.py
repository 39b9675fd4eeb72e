"""Which addresses notifications may go to: nothing inside our own network, unless the operator allows it.

A name is resolved once and the connection goes to the address that was checked, so that a name which changes its
answer in between (DNS rebinding) gains nothing. Standard library only: the courier runs without site-packages.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class ForbiddenTarget(ValueError):
    """The URL or its address is not one that notifications may go to."""


def check_url(url: str) -> None:
    """Refuse what can never be sent to: other schemes, no host, user info, control characters."""
    if any(ord(character) <= 32 or ord(character) == 127 for character in url):
        raise ForbiddenTarget("the URL contains spaces or control characters")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ForbiddenTarget("the URL must start with https:// (or http://)")
    if not parts.hostname:
        raise ForbiddenTarget("the URL has no host")
    if parts.username or parts.password:
        raise ForbiddenTarget("the URL contains user info; put credentials into the path or query")
    _ = parts.port  # raises ValueError when out of range


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, also when wrapped in IPv6 (mapped, 6to4, NAT64)."""
    ip = ipaddress.ip_address(address.split("%", 1)[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def resolve(host: str, port: int, allow_private: bool) -> list[tuple[socket.AddressFamily, str]]:
    """Addresses of a host that may be connected to, in the resolver's order.

    Raises ForbiddenTarget where any of them is private: a name that answers both ways is not to be trusted.
    Raises OSError where the name does not resolve.
    """
    found: list[tuple[socket.AddressFamily, str]] = []
    for family, _type, _protocol, _name, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        text = str(address[0])
        if not allow_private and not is_public(text):
            raise ForbiddenTarget(
                f"{host} resolves to {text}, which is not a public address"
                " (JITTERSCOPE_NOTIFY_ALLOW_PRIVATE_TARGETS=true permits targets inside your network)"
            )
        if (family, text) not in found:
            found.append((family, text))
    return found

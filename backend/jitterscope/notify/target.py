"""Which addresses notifications may go to: nothing inside our own network, unless the operator allows it.

A name is resolved once and the connection goes to the address that was checked, so that a name that changes its answer
in between (DNS rebinding) gains nothing. Standard library only: the courier runs without site-packages.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from jitterscope.notify.special_purpose import NETWORKS

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_SPECIAL = sorted(
    ((ipaddress.ip_network(network), reachable) for network, reachable in NETWORKS),
    key=lambda one: one[0].prefixlen,
    reverse=True,
)
_PERMIT = "(JITTERSCOPE_NOTIFY_ALLOW_PRIVATE_TARGETS=true permits targets inside your network)"


class ForbiddenTarget(ValueError):
    """Notifications may not go to this URL or its address."""


def check_url(url: str) -> None:
    """Reject URLs that can never be sent to: other schemes, no host, user info, control characters."""
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
    """Whether an IP address is on the public internet, including when wrapped in IPv6 (mapped, NAT64).

    IANA's special-purpose registries decide, the most specific block first. What they do not list as globally reachable
    is not public, and neither is IPv6 outside the block that addresses are allocated from.
    """
    ip = ipaddress.ip_address(address.split("%", 1)[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if ip in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        if ip not in _GLOBAL_UNICAST:
            return False
    if ip.is_multicast:
        return False
    return next((reachable for network, reachable in _SPECIAL if ip.version == network.version and ip in network), True)


def check_literal(host: str, allow_private: bool) -> None:
    """Reject a host that is an address of our own network, in any notation (`127.1`, `2130706433`)."""
    try:
        address = host if ":" in host else socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return  # a name
    if not allow_private and not is_public(address):
        raise ForbiddenTarget(f"{host} is not a public address {_PERMIT}")


def resolve(host: str, port: int, allow_private: bool) -> list[tuple[socket.AddressFamily, str]]:
    """The addresses of a host that may be connected to, in the resolver's order.

    Raises OSError if any of them is private, since a name that answers both ways is not to be trusted, or if the name
    does not resolve. The two look the same, so that the error does not reveal which names exist inside our network and
    what they resolve to. Raises ForbiddenTarget for a private address given literally.
    """
    check_literal(host, allow_private)
    found: list[tuple[socket.AddressFamily, str]] = []
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        answers = []
    for family, _type, _protocol, _name, address in answers:
        text = str(address[0])
        if not allow_private and not is_public(text):
            found = []
            break
        if (family, text) not in found:
            found.append((family, text))
    if not found:
        raise OSError(f"{host} does not resolve to a public address {_PERMIT}")
    return found

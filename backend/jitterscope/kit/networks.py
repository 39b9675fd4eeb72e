"""The network of an address: what a limit by address counts together."""

from __future__ import annotations

import ipaddress


def network_of(address: str) -> str:
    """The network of an address, because its holder can choose the rest of the address freely: /24, or /56 for IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 24 if found.version == 4 else 56), strict=False))

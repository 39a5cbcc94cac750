"""Addresses of servers, as options and tables of models give them."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_address(text: str) -> bool:
    """Whether a request can be sent to `text`: HTTP or HTTPS, a host, and a port that exists, if it has one."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and not any(map(str.isspace, text))


def is_local(address: str | None) -> bool:
    """Whether an address is one of this machine alone, so that a connection fails only if nothing listens there."""
    host = urlsplit(address or "").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""Addresses of servers, as options and tables of models give them."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_address(text: str) -> bool:
    """Whether a request can be sent to `text`: HTTP or HTTPS, a host, and a port that exists, if it has one."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and not any(map(str.isspace, text))

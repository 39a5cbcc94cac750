"""Why there was no connection to a server: its certificate, the proxy before it, or the network."""

from __future__ import annotations

import os
import socket
import ssl
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class NoConnection:
    """`step`: what the user can do; "" if that depends on the server. `lasting`: another try would fail alike."""

    reason: str
    step: str = ""
    lasting: bool = False


def no_connection(chain: Sequence[BaseException]) -> NoConnection | None:
    """The reason in an exception and its causes; None if there was a connection, or if that is unknown."""
    import httpx

    kinds = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
    failed = next((part for part in chain if isinstance(part, kinds)), None)
    if failed is None:
        return None
    if (tls := next((part for part in chain if isinstance(part, ssl.SSLError)), None)) is not None:
        return _tls(tls)
    # asyncio has its own text for a failed connection; a failed look-up of a name has a negative number
    system = [
        os.strerror(part.errno) if part.errno is not None and part.errno > 0 else part.strerror
        for part in chain
        if isinstance(part, OSError) and part.strerror
    ]
    reason = system[-1] if system else str(failed) or "no connection in time"
    if proxy := _proxy_of(failed):
        step = "start or correct this proxy, or add the server to NO_PROXY"
        return NoConnection(reason=f"proxy {proxy}: {reason}", step=step, lasting=True)
    return NoConnection(reason=reason)


def _tls(error: ssl.SSLError) -> NoConnection:
    if isinstance(error, ssl.SSLCertVerificationError):
        step = "name a file with the certificate of its authority in SSL_CERT_FILE"
        return NoConnection(reason=f"its certificate is not trusted: {error.verify_message}", step=step, lasting=True)
    reason = f"no TLS connection: {(error.reason or str(error)).replace('_', ' ').lower()}"
    step = "if this server has no TLS, use an address with http:// instead of https://"
    return NoConnection(reason=reason, step=step, lasting=True)


def speaks_tls(address: str | None) -> bool:
    """Whether a server with an `http://` address speaks TLS there. Connects to it, and sends no request."""
    url = urlsplit(address or "")
    if url.scheme != "http" or url.hostname is None:
        return False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((url.hostname, url.port or 80), _PROBE) as plain,
            context.wrap_socket(plain, server_hostname=url.hostname),
        ):
            return True
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        return False


_PROBE = 3.0
"""Time limit in seconds."""


def _proxy_of(failed: object) -> str:
    """The proxy that the request went to, with the variable that names it; "" if the request needs none."""
    try:
        url = urlsplit(str(failed.request.url))  # type: ignore[attr-defined]
    except RuntimeError:  # httpx knows no request
        return ""
    host = url.hostname or ""
    proxies = urllib.request.getproxies()
    name = next((name for name in (url.scheme, "all") if proxies.get(name)), "")
    if not name or urllib.request.proxy_bypass(host):
        return ""
    return f"{without_password(proxies[name])} ({name.upper()}_PROXY)"


def without_password(address: str) -> str:
    url = urlsplit(address)
    return url._replace(netloc=url.netloc.rpartition("@")[2], query="").geturl()

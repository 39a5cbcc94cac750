"""Addresses of Docker daemons, as in `DOCKER_HOST`: which are valid, and how messages and records show them."""

from __future__ import annotations

import os
from urllib.parse import SplitResult, urlsplit

from pytest_recode.sandboxes import docker_context

SSH = "ssh://"
FORMS = "ssh://[USER@]HOST[:PORT][/SOCKET], tcp://HOST:PORT or unix:///SOCKET"


def in_use(address: str) -> str:
    """`address`, or if it is "" the value of `DOCKER_HOST`, or the address of the active Docker context; "" is the default socket of this
    machine."""
    return address or os.environ.get("DOCKER_HOST") or docker_context.active().host


def problem(address: str) -> str:
    """What is wrong with an address, without quoting it; "" if it is valid."""
    parts = _parts(address)
    if parts is None:
        return f"is not an address of a Docker daemon; write {FORMS}"
    if parts.password is not None:
        return "has a password, which no daemon asks for; leave it out (ssh uses your keys, TLS uses DOCKER_CERT_PATH)"
    if parts.query or parts.fragment:
        return f"has more than an address; write {FORMS}"
    if parts.scheme == "unix":
        return "" if parts.path.startswith("/") and not parts.netloc else "has no absolute path; write unix:///SOCKET"
    if parts.scheme not in ("tcp", "ssh"):
        return f"is not an address of a Docker daemon; write {FORMS}"
    host, user = parts.hostname or "", parts.username or ""
    if not host or host.startswith("-") or user.startswith("-"):  # a dash would be an option of ssh
        return f"names no host; write {FORMS}"
    if parts.scheme == "tcp" and parts.port is None:
        return "has no port; write tcp://HOST:PORT"
    return ""


def has_password(address: str) -> bool:
    parts = _parts(address)
    return parts is not None and parts.password is not None


def shown(address: str) -> str:
    """The address for messages and records, without a password."""
    if not has_password(address):
        return address
    parts = urlsplit(address)
    return parts._replace(netloc=f"{parts.username or ''}@{parts.netloc.rpartition('@')[2]}").geturl()


def on(address: str) -> str:
    """For messages: " on ADDRESS", or "" for the default socket of this machine."""
    used = in_use(address)
    return f" on {shown(used)}" if used else ""


def _parts(address: str) -> SplitResult | None:
    """None if the address cannot be split."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts if not any(each.isspace() for each in address) else None

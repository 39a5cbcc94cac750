"""The context that the `docker` command uses if no address is named: `DOCKER_CONTEXT`, else `docker context use`. Runs on the host."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

_DEFAULT = "default"
"""Name of the context of this machine's own daemon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerContext:
    """`host`: the address of its daemon, or "" for the default socket. `tls`: the SDK's TLS configuration, or None.

    `problem`: why it cannot be used, or "".
    """

    host: str = ""
    tls: Any = None
    problem: str = ""


def active() -> DockerContext:
    """The context in use where neither `--recode-docker-host` nor `DOCKER_HOST` names a daemon."""
    import docker.context
    from docker.context.config import get_current_context_name

    variable = os.environ.get("DOCKER_CONTEXT", "")
    name = variable or get_current_context_name()
    if name == _DEFAULT:
        return DockerContext()
    named = f"DOCKER_CONTEXT={name}" if variable else f"the active Docker context {name}"
    step = "choose one of `docker context ls` with `docker context use`, or set DOCKER_HOST"
    try:
        context = docker.context.ContextAPI.get_context(name)
    except Exception as error:  # noqa: BLE001  the SDK has no narrower type for a damaged file
        return DockerContext(problem=f"{named} cannot be read ({' '.join(str(error).split())}): {step}")
    if context is None:
        return DockerContext(problem=f"{named} is not found: {step}")
    if not context.Host:
        return DockerContext(problem=f"{named} names no Docker daemon: {step}")
    return DockerContext(host=context.Host, tls=context.TLSConfig)

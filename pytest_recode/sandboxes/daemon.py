"""The connections to Docker daemons, and the errors if one does not answer.

The argument `address` of these functions is the address of a daemon, as in `DOCKER_HOST`; "" is the daemon that the environment names.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import docker_context, ssh_tunnel
from pytest_recode.sandboxes.addresses import SSH, has_password, in_use, on

API_SECONDS = 120
CONNECT_SECONDS = 20
_TLS = ("DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY")


def client(address: str = "") -> Any:
    """A new `docker.APIClient`, because threads must not share one. Raises `docker.errors.DockerException`."""
    import docker.errors
    import docker.utils

    context = docker_context.active() if not (address or os.environ.get("DOCKER_HOST")) else None
    if context is not None and context.problem:
        raise docker.errors.DockerException(context.problem)
    used = in_use(address)
    if has_password(used):  # the SDK would quote it
        raise docker.errors.DockerException("the address has a password, which no daemon asks for: leave it out")
    if used.startswith(SSH):
        try:
            used = ssh_tunnel.forwarded(used)
        except ssh_tunnel.SshError as exc:
            raise docker.errors.DockerException(str(exc)) from exc
    local = not used or used.startswith("unix://")
    tls = {} if local else {name: value for name in _TLS if (value := os.environ.get(name)) is not None}
    connection: Any
    if context is not None and context.tls is not None and not local:
        connection = {"base_url": used.replace("tcp://", "https://", 1), "tls": context.tls}
    else:
        connection = docker.utils.kwargs_from_env({"DOCKER_HOST": used, **tls})
    made = _kind()(**connection, version="auto", timeout=API_SECONDS)
    made.address = address
    return made


@functools.cache
def _kind() -> Any:
    import docker

    class Client(docker.APIClient):
        """A client that reads environment variables by name, and waits less long for a connection than for an answer.

        For each request, the SDK copies the whole environment, also in the threads that start spare containers. The copy fails
        with `KeyError` if pytest removes a variable at the same time.
        """

        address = ""  # that it was created for

        def _set_request_timeout(self, kwargs: dict[str, Any]) -> dict[str, Any]:
            kwargs.setdefault("timeout", (CONNECT_SECONDS, self.timeout))
            return kwargs

        @property
        def trust_env(self) -> bool:
            return False

        @trust_env.setter
        def trust_env(self, value: bool) -> None:
            """Called by requests when it creates a session."""

        def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
            settings = super().merge_environment_settings(url, proxies, stream, verify, cert)
            settings["proxies"] = {**_proxies(url), **settings["proxies"]}
            if settings["verify"] is True:
                bundles = (os.environ.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
                settings["verify"] = next(filter(None, bundles), True)
            return settings

    return Client


def _proxies(url: str) -> dict[str, str]:
    """The proxies by scheme for a daemon that is reached over the network."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return {}
    named = {name: os.environ.get(f"{name}_proxy") or os.environ.get(f"{name}_proxy".upper()) for name in _PROXIES}
    set_ = {name: value for name, value in named.items() if value}
    if proxy_bypass_environment(parts.netloc, set_):
        return {}
    return {name: value for name, value in set_.items() if name != "no"}


_PROXIES = ("http", "https", "all", "no")


@contextmanager
def connected(address: str = "") -> Iterator[Any]:
    """A client that is closed on exit. Raises `SandboxError` if the daemon is not running, stops, or refuses a request."""
    import docker.errors

    with answering(address):
        daemon = client(address)
        try:
            yield daemon
        except docker.errors.APIError as exc:
            raise SandboxError(f"docker{on(address)}: {' '.join(str(exc.explanation or exc).split())}") from exc
        finally:
            daemon.close()


@contextmanager
def answering(address: str = "") -> Iterator[None]:
    """Convert connection errors of the SDK to `SandboxError`. Errors that the daemon returns (`APIError`) are not converted."""
    import docker.errors
    import requests
    import urllib3

    try:
        yield
    except docker.errors.APIError:
        raise
    except (docker.errors.DockerException, requests.RequestException, urllib3.exceptions.HTTPError) as exc:
        raise SandboxError(unanswered(exc, address)) from exc


def unanswered(exc: Exception, address: str = "") -> str:
    used = in_use(address)
    if not used and (problem := docker_context.active().problem):
        return f"docker: {problem}"
    choice = "name other hosts with --recode-docker-host" if address else "set DOCKER_HOST"
    step = "start Docker there" if used else "start Docker"
    cause = " ".join(str(exc).split())
    if used.startswith(SSH) and not has_password(used):
        step = f"check that `{ssh_tunnel.by_hand(used)}` works without a question"
        last_error = ssh_tunnel.last_error(used)
        cause += f"; ssh: {last_error}" if last_error and last_error not in cause else ""
    return f"docker{on(address)}: the daemon does not answer ({cause}); {step}, or {choice}"


def wait_removed(ids: list[str], address: str = "") -> None:
    """Wait until the daemon has removed these ended containers. Raises `SandboxError`."""
    import docker.errors

    with connected(address) as daemon:
        for container in ids:
            with suppress(docker.errors.NotFound):
                daemon.wait(container, condition="removed")


def now(daemon: Any) -> float:
    """The time in seconds since the epoch by the clock of the daemon's machine, which may differ from this one's."""
    return datetime.fromisoformat(daemon.info()["SystemTime"]).timestamp()


def host() -> str:
    """An id of this boot and pid namespace, within which a pid identifies a process."""
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{Path('/proc/self/ns/pid').readlink()}"

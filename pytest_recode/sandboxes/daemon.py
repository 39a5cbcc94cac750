"""The connection to the Docker daemon, and the errors if it does not answer."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from pytest_recode.faults import SandboxError

API_SECONDS = 120


def client() -> Any:
    """A new `docker.APIClient`, because threads must not share one. Raises `docker.errors.DockerException`."""
    import docker.utils

    return _kind()(**docker.utils.kwargs_from_env(), version="auto", timeout=API_SECONDS)


@functools.cache
def _kind() -> Any:
    import docker

    class Client(docker.APIClient):
        """A client that reads environment variables by name.

        For each request, the SDK copies the whole environment, also in the threads that start spare containers. The copy fails
        with `KeyError` if pytest removes a variable at the same time.
        """

        @property
        def trust_env(self) -> bool:
            return False

        @trust_env.setter
        def trust_env(self, value: bool) -> None:
            """Called by requests when it creates a session."""

        def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
            found = super().merge_environment_settings(url, proxies, stream, verify, cert)
            found["proxies"] = {**_proxies(url), **found["proxies"]}
            if found["verify"] is True:
                bundles = (os.environ.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
                found["verify"] = next(filter(None, bundles), True)
            return found

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
def connected() -> Iterator[Any]:
    """A client that is closed on exit. Raises `SandboxError` if the daemon is not running, stops, or refuses a request."""
    import docker.errors

    with answering():
        daemon = client()
        try:
            yield daemon
        except docker.errors.APIError as exc:
            raise SandboxError(f"docker: {' '.join(str(exc.explanation or exc).split())}") from exc
        finally:
            daemon.close()


@contextmanager
def answering() -> Iterator[None]:
    """Convert connection errors of the SDK to `SandboxError`. Errors that the daemon returns (`APIError`) are not converted."""
    import docker.errors
    import requests
    import urllib3

    try:
        yield
    except docker.errors.APIError:
        raise
    except (docker.errors.DockerException, requests.RequestException, urllib3.exceptions.HTTPError) as exc:
        raise SandboxError(unanswered(exc)) from exc


def unanswered(exc: Exception) -> str:
    return f"docker: the daemon does not answer ({' '.join(str(exc).split())}); start Docker, or set DOCKER_HOST"


def wait_removed(ids: list[str]) -> None:
    """Wait until the daemon has removed these ended containers. Raises `SandboxError`."""
    import docker.errors

    with connected() as daemon:
        for container in ids:
            with suppress(docker.errors.NotFound):
                daemon.wait(container, condition="removed")


def host() -> str:
    """An id of this boot and pid namespace, within which a pid identifies a process."""
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{Path('/proc/self/ns/pid').readlink()}"

"""The docker daemon: how it is reached, and what it is when nobody answers there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_recode.faults import SandboxError

API_SECONDS = 120


def client() -> Any:
    """A `docker.APIClient` of one's own, as threads must not share one. Raises `docker.errors.DockerException`."""
    import docker.utils

    return docker.APIClient(**docker.utils.kwargs_from_env(), version="auto", timeout=API_SECONDS)


@contextmanager
def connected() -> Iterator[Any]:
    """A client for as long as it is needed. Raises `SandboxError` where the daemon is not there, or goes down meanwhile,
    or refuses what nobody foresaw."""
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
    """What the SDK raises where nobody answers is a `SandboxError`; what the daemon answers (`APIError`) passes."""
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
    return f"docker: its daemon does not answer ({' '.join(str(exc).split())}); start Docker, or set DOCKER_HOST"


def wait_removed(ids: list[str]) -> None:
    """Until the daemon has removed these ended containers. Raises `SandboxError`."""
    import docker.errors

    with connected() as daemon:
        for container in ids:
            with suppress(docker.errors.NotFound):
                daemon.wait(container, condition="removed")


def host() -> str:
    """This boot and pid namespace: where a pid means the same process."""
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{Path('/proc/self/ns/pid').readlink()}"

"""pytest changes `os.environ` at the beginning and end of every phase: no other thread may copy it meanwhile."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from pytest_recode.sandboxes import SandboxContext, docker_
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.sandboxes.daemon import client
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import IMAGE, usable

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)


class Watched(os._Environ):  # type: ignore[type-arg]
    """Notes who goes through it from another thread than the one that pytest runs in."""

    def __init__(self, own: Any) -> None:
        super().__init__(own._data, own.encodekey, own.decodekey, own.encodevalue, own.decodevalue)
        self.copied: list[str] = []

    def __iter__(self) -> Iterator[str]:
        if threading.current_thread() is not threading.main_thread():
            self.copied.append("".join(traceback.format_stack(limit=6)))
        return super().__iter__()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    found = Watched(os.environ)
    monkeypatch.setattr(os, "environ", found)
    return found


@pytest.mark.slow
def test_containers_are_started_without_a_copy_of_the_environment(context: SandboxContext, watched: Watched) -> None:
    usable("docker", context)
    sandbox = docker_.Docker(SandboxContext(run=f"threads-{uuid4().hex}", python="", image=IMAGE))
    bench = Bench(sandbox=sandbox, environment=Environment(), limits=LIMITS)
    for _ in range(2):  # the second finds a spare, which was started while nobody waited for it
        with bench.probe() as probe:
            assert probe.ask("result = 1") == 1
    sandbox.close()
    assert not watched.copied, watched.copied[0]


@pytest.mark.parametrize(
    ("variables", "url", "proxies"),
    [
        ({}, "http://docker.example:2375/v1.41/info", {}),
        ({"HTTP_PROXY": "http://p:1"}, "http://docker.example:2375/info", {"http": "http://p:1"}),
        (
            {"http_proxy": "http://p:1", "HTTP_PROXY": "http://q:1"},
            "http://docker.example:2375/info",
            {"http": "http://p:1"},
        ),
        ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "example"}, "http://docker.example:2375/info", {}),
        ({"HTTP_PROXY": "http://p:1"}, "http+docker://localhost/info", {}),
    ],
)
def test_a_daemon_over_the_network_is_reached_through_the_proxy_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
    context: SandboxContext,
    variables: dict[str, str],
    url: str,
    proxies: dict[str, str],
) -> None:
    usable("docker", context)
    for scheme in ("http", "https", "all", "no"):
        for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
            monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    daemon = client()
    assert daemon.merge_environment_settings(url, {}, None, None, None)["proxies"] == proxies
    daemon.close()

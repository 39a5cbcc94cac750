from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap, docker_, process
from pytest_recode.sandboxes.episode_sandbox import EpisodeSandbox
from pytest_recode.sandboxes.launch_client import LaunchClient
from pytest_recode.sandboxes.launch_server import LaunchServer

IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")
LOCAL = {
    "process": process.KIND,
    "bubblewrap": bubblewrap.KIND,
    "bubblewrap-cold": replace(bubblewrap.KIND, make=partial(bubblewrap.Bubblewrap, cold=True)),
}


class Served(LaunchClient):
    """A sandbox of a worker, with the server that launches for it."""

    def __init__(self, name: str, context: SandboxContext) -> None:
        self.server = LaunchServer(LOCAL.__getitem__, workers=2)
        super().__init__(name, LOCAL[name].make(context), context, self.server.address)

    def close(self) -> None:
        super().close()
        self.server.close()


class Flown(EpisodeSandbox):
    """The part of a sandbox that one episode in flight uses, with the whole sandbox."""

    def __init__(self, make: Callable[[SandboxContext], Sandbox], context: SandboxContext) -> None:
        self.whole = make(context)
        super().__init__(self.whole, lambda: None)

    def close(self) -> None:
        super().close()
        self.whole.close()


KINDS = {
    "process": (process.KIND.check, process.KIND.make),
    "bubblewrap": (bubblewrap.KIND.check, partial(bubblewrap.Bubblewrap, cold=False)),
    "bubblewrap-cold": (bubblewrap.KIND.check, partial(bubblewrap.Bubblewrap, cold=True)),
    "process-served": (process.KIND.check, partial(Served, "process")),
    "bubblewrap-served": (bubblewrap.KIND.check, partial(Served, "bubblewrap")),
    "bubblewrap-cold-served": (bubblewrap.KIND.check, partial(Served, "bubblewrap-cold")),
    "docker": (docker_.KIND.check, docker_.KIND.make),
    "bubblewrap-in-flight": (bubblewrap.KIND.check, partial(Flown, bubblewrap.KIND.make)),
    "docker-in-flight": (docker_.KIND.check, partial(Flown, docker_.KIND.make)),
}


def unavailable(reason: str) -> None:
    """A skip, but where everything must be there: a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"not available in CI: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def context() -> SandboxContext:
    return SandboxContext(run=f"tests-{os.getpid()}", python=sys.executable, image=IMAGE)


@pytest.fixture(scope="session")
def sandboxes(context: SandboxContext) -> Iterator[dict[str, Sandbox]]:
    made: dict[str, Sandbox] = {}
    yield made
    for sandbox in made.values():
        sandbox.close()


def usable(name: str, context: SandboxContext) -> None:
    reason = KINDS[name][0](context)
    if reason:
        unavailable(reason)
    if name == "docker" and not IMAGE:
        unavailable("RECODE_TEST_IMAGE names no docker image with Python and pytest")


def opened(name: str, context: SandboxContext, by_name: dict[str, Sandbox]) -> Sandbox:
    if name not in by_name:
        usable(name, context)
        by_name[name] = KINDS[name][1](context)
    return by_name[name]

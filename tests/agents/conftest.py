from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.task import Environment, Limits
from tests.agents.scripted import a_brief
from tests.sandboxes.conftest import IMAGE, KINDS, usable


def made(name: str) -> Iterator[Sandbox]:
    context = SandboxContext(run=f"agents-{os.getpid()}", python=sys.executable, image=IMAGE)
    usable(name, context)
    sandbox = KINDS[name][1](context)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session", params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Those of this machine."""
    yield from made(request.param)


@pytest.fixture(scope="session")
def walls() -> Iterator[Sandbox]:
    """The one that has walls and is quick."""
    yield from made("bubblewrap")


@pytest.fixture(scope="session", params=list(KINDS))
def every_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    yield from made(request.param)


Open = Callable[..., SandboxWorkspace]


def opener(sandbox: Sandbox) -> Iterator[Open]:
    opened: list[SandboxWorkspace] = []

    def open_one(limits: Limits | None = None, **repo: bytes) -> SandboxWorkspace:
        brief = a_brief(repo=repo["files"]) if "files" in repo else a_brief()
        opened.append(SandboxWorkspace(sandbox, brief, Environment(), limits or Limits(command_seconds=30)))
        return opened[-1]

    yield open_one
    for workspace in opened:
        workspace.close()


@pytest.fixture
def open_workspace(sandbox: Sandbox) -> Iterator[Open]:
    yield from opener(sandbox)


@pytest.fixture
def open_walled(walls: Sandbox) -> Iterator[Open]:
    yield from opener(walls)


@pytest.fixture
def open_everywhere(every_sandbox: Sandbox) -> Iterator[Open]:
    yield from opener(every_sandbox)

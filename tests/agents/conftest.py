from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.sandboxes import Sandbox, SandboxContext, SandboxKind, bubblewrap, process
from pytest_recode.task import Environment, Limits
from tests.agents.scripted import a_brief

KINDS: dict[str, SandboxKind] = {"process": process.KIND, "bubblewrap": bubblewrap.KIND}


def made(name: str) -> Iterator[Sandbox]:
    context = SandboxContext(run=f"agents-{os.getpid()}", python=sys.executable)
    reason = KINDS[name].check(context)
    if reason:
        pytest.skip(reason)
    sandbox = KINDS[name].make(context)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session", params=list(KINDS))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Each kind of this machine."""
    yield from made(request.param)


@pytest.fixture(scope="session")
def walls() -> Iterator[Sandbox]:
    """The one that has walls."""
    yield from made("bubblewrap")


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

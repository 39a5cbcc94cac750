"""Real gradings: hidden tests and candidates as text, in the sandboxes of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_recode.oracle.judge import Fresh, judge
from pytest_recode.sandboxes import Sandbox, SandboxContext, SandboxKind, bubblewrap, process
from pytest_recode.task import Environment, Limits, Parts, Task
from pytest_recode.verdict import Case, Verdict

KINDS: dict[str, SandboxKind] = {"process": process.KIND, "bubblewrap": bubblewrap.KIND}
ENVIRONMENT = Environment(preload=("numpy",))


def made(name: str) -> Iterator[Sandbox]:
    context = SandboxContext(run=f"oracle-{os.getpid()}", python=sys.executable)
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


@pytest.fixture(scope="session")
def bare() -> Iterator[Sandbox]:
    """The quickest: for what does not depend on walls."""
    yield from made("process")


def files(texts: dict[str, str] | str, name: str) -> dict[str, bytes]:
    texts = {name: texts} if isinstance(texts, str) else texts
    return {path: dedent(text).encode() for path, text in texts.items()}


def grade(
    sandbox: Sandbox,
    tests: dict[str, str] | str,
    candidate: dict[str, str] | str,
    reference: dict[str, str] | str = "",
    *,
    repo: dict[str, str] | None = None,
    interfaces: tuple[str, ...] = ("m.f",),
    seed: int | None = None,
    fresh: Fresh = Fresh.INTERFACE,
    environment: Environment = ENVIRONMENT,
    **limits: Any,
) -> Verdict:
    """Grade a candidate's `m.py` by `tests/test_m.py`; a mapping of paths to texts where there is more."""
    targets, answer = files(candidate, "m.py"), files(reference or candidate, "m.py")
    parts = Parts(
        instruction="",
        paper=None,
        repo=files(repo or {}, "m.py"),
        reference=answer,
        tests=files(tests, "test_m.py"),
    )
    task = Task(
        id="t",
        title="t",
        format="directory",
        manifest=Path("/tasks/t/task.yaml"),
        targets=tuple(sorted({*targets, *answer})),
        interfaces=interfaces,
        load=lambda: parts,
        environment=environment,
        limits=Limits(**limits),
    )
    return judge(task, parts, targets, sandbox, seed=seed, fresh=fresh)


def only(verdict: Verdict) -> Case:
    [case] = verdict.cases
    return case

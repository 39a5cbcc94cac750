"""Real gradings: hidden tests and candidates as text, in the sandboxes of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_recode.oracle.judge import Fresh, KeptGraders, judge
from pytest_recode.sandboxes import Sandbox, SandboxContext, SandboxKind, bubblewrap, docker_, process
from pytest_recode.task import Environment, Limits, Oracle, Parts, Task
from pytest_recode.verdict import Case, Verdict

IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")
KINDS: dict[str, SandboxKind] = {"process": process.KIND, "bubblewrap": bubblewrap.KIND, "docker": docker_.KIND}
ENVIRONMENT = Environment(preload=("numpy",), requirements=Path(__file__).parent / "requirements.txt")


def made(name: str) -> Iterator[Sandbox]:
    context = SandboxContext(run=f"oracle-{os.getpid()}", python=sys.executable, image=IMAGE)
    reason = KINDS[name].check(context)
    if name == "docker" and not IMAGE:
        reason = "RECODE_TEST_IMAGE names no docker image with Python and pytest"
    if reason and os.environ.get("CI"):
        pytest.fail(f"not available in CI: {reason}")
    if reason:
        pytest.skip(reason)
    sandbox = KINDS[name].make(context)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def process_sandbox() -> Iterator[Sandbox]:
    yield from made("process")


@pytest.fixture(scope="session")
def bubblewrap_sandbox() -> Iterator[Sandbox]:
    yield from made("bubblewrap")


@pytest.fixture(scope="session")
def docker_sandbox() -> Iterator[Sandbox]:
    yield from made("docker")


@pytest.fixture(params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each local kind."""
    return request.getfixturevalue(f"{request.param}_sandbox")  # type: ignore[no-any-return]


@pytest.fixture(params=["process", "bubblewrap", "docker"])
def every_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return request.getfixturevalue(f"{request.param}_sandbox")  # type: ignore[no-any-return]


@pytest.fixture
def walls(bubblewrap_sandbox: Sandbox) -> Sandbox:
    """One that has walls, for what needs them."""
    return bubblewrap_sandbox


@pytest.fixture
def bare(process_sandbox: Sandbox) -> Sandbox:
    """For what does not depend on walls."""
    return process_sandbox


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
    stop_at_failure: bool = False,
    still_run: tuple[str, ...] = (),
    only: tuple[str, ...] | None = None,
    graders: KeptGraders | None = None,
    shifted: str = "",
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
    return judge(
        task,
        parts,
        targets,
        sandbox,
        seed=seed,
        fresh=fresh,
        stop_at_failure=stop_at_failure,
        still_run=still_run,
        only=only,
        graders=graders,
        shifted=shifted,
    )


def by_script(script: str, imported: str, reference: str = "", **limits: Any) -> tuple[Task, Parts]:
    """A task as ResearchCodeBench poses it: `paper2code_test.py` tests `answer.py`, and imports `answer_ref.py` (`imported`)."""
    parts = Parts(
        instruction="",
        paper=None,
        repo=files({"answer.py": ""}, ""),
        reference=files({"answer.py": reference or imported}, ""),
        tests=files({"paper2code_test.py": script, "answer_ref.py": imported}, ""),
    )
    task = Task(
        id="t",
        title="t",
        format="researchcodebench",
        manifest=Path("/tasks/papers.yaml"),
        targets=("answer.py",),
        interfaces=(),
        load=lambda: parts,
        environment=ENVIRONMENT,
        limits=Limits(**limits),
        oracle=Oracle(isolation="shared", script="paper2code_test.py"),
    )
    return task, parts


def only(verdict: Verdict) -> Case:
    [case] = verdict.cases
    return case

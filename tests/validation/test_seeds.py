"""Cases that depend on the secret seed, and how often an answer is graded to find them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.sandboxes import Sandbox, SandboxContext, process
from pytest_recode.validation.checks import checks
from pytest_recode.validation.gradings import CommonGrader
from pytest_recode.validation.seeds import differing
from pytest_recode.validation.validate import ENOUGH, validate
from pytest_recode.verdict import Case, Outcome, Verdict
from tests.plugin.conftest import FILES, MANIFEST


def verdict(seed: int, **cases: Outcome) -> Verdict:
    return Verdict(seed=seed, cases=tuple(Case(id=name, interface="a.f", outcome=cases[name]) for name in cases))


def test_a_case_that_fails_and_passes_is_named_with_its_seeds() -> None:
    seeds = {1: Outcome.FAILED, 2: Outcome.PASSED, 3: Outcome.FAILED, 4: Outcome.FAILED, 5: Outcome.FAILED}
    verdicts = [verdict(seed, a=Outcome.PASSED, b=seeds[seed], c=Outcome.FAILED) for seed in seeds]
    [found] = differing("proofs/right/x", verdicts)
    assert (found.answer, found.case, found.failed, found.passed) == ("proofs/right/x", "b", (1, 3, 4, 5), (2,))
    assert found.text == "b depends on the seed: it fails with seeds 1, 3, 4 and 1 more, and passes with seed 2"


def test_a_case_that_fails_and_passes_with_the_same_seed() -> None:
    """It failed in the common grader, and passed alone."""
    verdicts = [verdict(1, a=Outcome.PASSED), verdict(2, a=Outcome.FAILED), verdict(2, a=Outcome.PASSED)]
    [found] = differing("proofs/right/x", verdicts)
    assert (found.failed, found.passed) == ((2,), (1, 2))
    assert found.text == (
        "a depends on more than the seed: with seed 2 it failed and then passed: look for default_rng() without a seed, "
        "the clock, or the order of a set; draw from the fixture rng"
    )


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = process.KIND.make(SandboxContext(run=f"seeds-{os.getpid()}", python=sys.executable, image=""))
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(("body", "gradings"), [("x + x", ENOUGH + 1), ("x", 2 * ENOUGH)])
def test_an_answer_that_fails_under_every_seed_is_not_graded_on(
    tmp_path: Path, sandbox: Sandbox, body: str, gradings: int
) -> None:
    right = f"def twice(x):\n    return {body}\n\n\ndef half(x):\n    return x / 2\n"
    manifest = {"task.yaml": MANIFEST.format(id="tiny", domain="ml"), "proofs/right/sum/answer.py": right}
    for path, text in {**FILES, **manifest}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (task,) = FORMAT.load(tmp_path / "task.yaml")
    [check] = [check for check in checks(task) if check.name == "right"]
    graded: list[None] = []
    with closing(CommonGrader(task, sandbox)) as common:
        found = validate(check, common, seeds=ENOUGH + 1, graded=lambda: graded.append(None))
    assert len(graded) == 1 + gradings  # the reference; a failure is graded again, alone
    assert (found.right, bool(found.problem), found.differences) == (body == "x + x", body == "x", ())

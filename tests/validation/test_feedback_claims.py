"""Derived feedback claims no fault of right answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.validation.checks import proofs_of
from pytest_recode.validation.feedback_claims import untrue_claims
from tests.feedback.scene import parts, task
from tests.messages import assert_message

MANIFESTS = sorted((Path(__file__).parents[2] / "tasks").glob("*/task.yaml"))


@pytest.mark.mostly_slow
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_right_answers_of_the_bundled_tasks(manifest: Path) -> None:
    (given,) = FORMAT.load(manifest)
    known = given.load()
    answers = proofs_of(given, "right").right
    assert answers
    assert [line for name, files in answers.items() for line in untrue_claims(given, known, name, files)] == []


def test_a_signature_that_no_brief_promises_is_a_problem() -> None:
    other = b"def mean(values):\n    return sum(values) / len(values)\n"
    lines = untrue_claims(task(), parts(), "proofs/right/other", {"stats.py": other})
    assert_message(lines[0], "stats: proofs/right/other is right", "signature", "stats.mean", "brief", "reference")

"""What a task needs and its interpreter lacks is told before a model is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.sandboxes import SandboxContext
from tests.chat_server import ChatServer
from tests.messages import assert_line, assert_message
from tests.sandboxes.conftest import IMAGE, usable

from .conftest import FILES, words
from .test_models import ONE_SHOT, answers

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

TEST = "tests/test_answer.py"
REFERENCE = "reference/answer.py"
LACKING = {
    "tests": {TEST: f"import nonesuch.part\n{FILES[TEST]}"},
    "reference": {REFERENCE: f"from nonesuch import part\n{FILES[REFERENCE]}"},
    "repository": {"repo/constants.py": f"import nonesuch\n{FILES['repo/constants.py']}"},
}


def play(recode: Run, *args: str, sandbox: str = "process") -> tuple[pytest.RunResult, int]:
    """With the number of requests that were sent."""
    with ChatServer(answers) as server:
        given = ("--recode-model=local", f"--recode-api-base={server.url}")
        result = recode(*ONE_SHOT, *given, *args, sandbox=sandbox)
        return result, len(server.requests)


@pytest.mark.slow
@pytest.mark.parametrize("where", LACKING)
@pytest.mark.parametrize("sandbox", ["process", "bubblewrap"])
def test_what_is_imported_and_not_installed(
    make_task: MakeTask, recode: Run, results: Results, where: str, sandbox: str
) -> None:
    make_task(files=dict(LACKING[where]))
    result, asked = play(recode, sandbox=sandbox)
    assert asked == 0
    result.assert_outcomes(errors=1)
    [record] = results()
    assert record["error"] == {
        "kind": "user",
        "message": f"task tiny: its tests or its reference import nonesuch, which {sys.executable} does not have: install it there,"
        " or name another interpreter with --recode-python=PATH (no model was called)",
    }


ALONE = {
    REFERENCE: f"import nonesuch\n{FILES[REFERENCE]}",
    TEST: FILES[TEST].replace("reference.answer.half(1.5)", "0.75").replace(", reference", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--recode-validate", "-k", "reference"), ("--recode-agent=reference",)])
@pytest.mark.parametrize("files", [LACKING["tests"], LACKING["reference"], ALONE], ids=["tests", "reference", "alone"])
def test_what_is_not_installed_is_told_without_a_model(
    make_task: MakeTask, recode: Run, options: tuple[str, ...], files: dict[str, str]
) -> None:
    """Also if no test imports the reference, which then fails as a candidate does."""
    make_task(files=dict(files))
    result = recode(*options)
    result.assert_outcomes(errors=1)
    assert f"import nonesuch, which {sys.executable} does not have: install it there, or name" in words(result)
    assert "Traceback" not in words(result)


@pytest.mark.slow
def test_tests_that_are_wrong_are_found_before_a_model_is_asked(
    make_task: MakeTask, recode: Run, results: Results
) -> None:
    make_task("a", files={TEST: "def test_twice(:\n"})
    make_task("b", files={REFERENCE: f"{FILES[REFERENCE]}\n1 / 0\n"})
    make_task("c", files={TEST: "def test_twice(candidate, nonesuch): ...\n"})
    result, asked = play(recode)
    assert asked == 0
    result.assert_outcomes(errors=3)
    assert [record["error"]["kind"] for record in results()] == ["grader", "grader", "grader"]
    assert_line(words(result), "test_answer.py::test_twice", "`nonesuch`", "define the fixture in the hidden tests")
    assert "the reference's module answer cannot be imported: ZeroDivisionError" in words(result)


@pytest.mark.slow
def test_an_unmet_requirement_is_told_and_no_fault(
    make_task: MakeTask, recode: Run, workers: str, pytester: pytest.Pytester
) -> None:
    """Another package may stand in for it; what is imported and not found is a fault of its own."""
    requirements = "pytest<1\nno-such-package>=2\nno-such-os; os_name == 'x'\n"
    make_task("a", files={"environment/requirements.txt": requirements})
    make_task("b")
    make_task("c")
    (pytester.path / "bench/c/environment").mkdir()
    (pytester.path / "bench/c/environment/requirements.txt").write_bytes(b"pytest # caf\xe9\n")
    result = recode(workers, "--recode-agent=reference", "--recode-out=out")
    result.assert_outcomes(passed=3)
    packages = f"a (pytest<1: {pytest.__version__}, no-such-package>=2: not installed)"
    assert words(result).count(packages) == 1
    assert_line(words(result), "requirements.txt", "verdicts may differ", packages)
    assert_line(
        words(result), "not compared", "c/environment/requirements.txt", "cannot be decoded", "save it as UTF-8"
    )


def undecodable(make_task: MakeTask) -> None:
    """Task `a`, whose requirements no encoding is known for, beside `b`."""
    (make_task("a") / "environment").mkdir()
    make_task("b")
    (Path("bench") / "a" / "environment" / "requirements.txt").write_bytes(b"pytest # caf\xe9\n")


@pytest.mark.slow
def test_undecodable_requirements_are_an_error_of_their_check(make_task: MakeTask, recode: Run) -> None:
    undecodable(make_task)
    result = recode("--recode-validate", "-k", "reference")
    result.assert_outcomes(passed=1, errors=1)
    assert_line(result.stdout.str(), "a/environment/requirements.txt", "cannot be decoded", "save it as UTF-8")
    assert "Traceback" not in words(result)


@pytest.mark.slow
def test_undecodable_requirements_of_an_image_are_an_error_of_their_item(
    make_task: MakeTask, recode: Run, results: Results
) -> None:
    usable("docker", SandboxContext(run="requirements", python=sys.executable, image=IMAGE))
    undecodable(make_task)
    result = recode("--recode-agent=reference", f"--recode-image={IMAGE}", "--recode-out=out", sandbox="docker")
    result.assert_outcomes(passed=1, errors=1)
    [error] = [record["error"] for record in results() if record["error"]]
    assert error["kind"] == "user"
    assert_message(error["message"], "a/environment/requirements.txt", "cannot be decoded", "save it as UTF-8")

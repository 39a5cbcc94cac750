"""`--recode-validate-json`: the file has what the checks found, in one order, and is refused before anything is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_recode.render
from tests.messages import assert_line
from tests.plugin.conftest import FILES, MakeTask
from tests.plugin.test_proofs import IDLE, PROVED, TESTS, WEAK

Run = Callable[..., pytest.RunResult]
SCHEMA = json.loads((Path(pytest_recode.render.__file__).parent / "validation.schema.json").read_text("utf-8"))


def read(pytester: pytest.Pytester) -> dict[str, Any]:
    text = (pytester.path / "found.json").read_text("ascii")
    assert text.replace("\n", "").isprintable()
    found: dict[str, Any] = json.loads(text)
    jsonschema.validate(found, SCHEMA)
    return found


PARTS = "mutants or wrong or reference"


@pytest.mark.slow
def test_the_file_has_every_task_and_check_in_one_order(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task("second", files={**PROVED, "tests/test_answer.py": TESTS + IDLE})
    make_task("first", files=WEAK)
    result = recode(workers, "--recode-validate", "--recode-validate-json=found.json", "-k", PARTS)
    result.assert_outcomes(passed=7)
    found = read(pytester)
    assert (found["version"], found["unreadable"]) == (1, [])
    first, second = found["tasks"]
    assert (first["task"], second["task"]) == ("first", "second")
    mutants = ["mutants-answer.twice", "mutants-answer.half"]
    assert [check["check"] for check in second["checks"]] == ["reference", "wrong", *mutants]
    assert second["not_run"] == ["brief", "untouched", "empty", "constant", "right"]
    assert [check["check"] for check in first["checks"]] == ["reference", *mutants]  # without proofs/
    assert (second["mutants"]["detected"], second["wrong_answers"]) == (9, {"detected": 1, "tried": 1})
    assert second["never_failed"] == ["test_answer.py::test_idle"]
    assert (first["wrong_answers"], first["never_failed"]) == (None, [])
    assert (first["seeds"], second["seeds"]) == (3, None)  # right answers were not graded
    _, twice, _ = first["checks"]
    [survivor] = [each for each in twice["survivors"] if each["name"].endswith("-> return x / TWO")]
    assert survivor["place"] == "answer.py:6 in twice"
    assert survivor["diff"].endswith(
        "\n     # exact\n-    return x * TWO  # not x + x\n+    return x / TWO  # not x + x\n \n "
    )
    assert survivor["nearest"] == "test_answer.py::test_twice"


@pytest.mark.slow
def test_problems_errors_and_hostile_texts_are_in_it(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    tests = FILES["tests/test_answer.py"].replace("== 3.0", "== 3.5, '\\x1b[2J\\x7f\\u202e'")
    make_task("wrong", domain="sience", files={"tests/test_answer.py": tests})
    make_task("broken", files={"tests/test_answer.py": f"{tests}\n\n1 / 0\n"})
    result = recode("--recode-validate", "--recode-validate-json=found.json", "-k", "reference")
    result.assert_outcomes(failed=1, errors=1)
    assert result.stdout.str().count("domain: ") == 1
    assert "recode: wrong: domain: sience (did you mean science?)" in result.outlines
    broken, wrong = read(pytester)["tasks"]
    [check] = broken["checks"]
    assert (check["finding"], check["error"]["kind"], check["problem"]) == ("error", "grader", None)
    assert "division by zero" in check["error"]["message"]
    [check] = wrong["checks"]
    assert (check["finding"], check["error"], check["right"]) == ("problem", None, 0)
    assert "wrong: the reference fails 1 of 2 cases with seed" in check["problem"]
    assert wrong["mutants"] is wrong["never_failed"] is wrong["seeds"] is None


@pytest.mark.slow
def test_what_cannot_be_collected_is_in_it(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task(manifest="wrong: 1\n")
    make_task("other")
    result = recode(workers, "--recode-validate", "--recode-validate-json=found.json")
    assert result.ret != 0
    [unreadable] = read(pytester)["unreadable"]
    assert unreadable["nodeid"] == "bench/tiny/task.yaml"
    assert "wrong" in unreadable["message"]


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_a_usage_error_before_anything_is_run(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task(files={"tests/test_answer.py": "1/0\n"})
    for path, wrong in (("nowhere/x.json", "no directory"), ("bench", "is a directory"), ("/dev/null", "regular file")):
        result = recode("--recode-validate", f"--recode-validate-json={path}", fresh=True)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert_line(
            "\n".join(result.errlines), "--recode-validate-json", wrong, "name a file in a directory that exists"
        )
        assert "collected" not in result.stdout.str()
    alone = recode("--recode-validate-json=x.json", "--recode-agent=reference")
    assert alone.ret == pytest.ExitCode.USAGE_ERROR
    assert_line("\n".join(alone.errlines), "--recode-validate-json", "only with --recode-validate", "leave out")


def test_a_usage_error_leaves_the_last_file_alone(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    (pytester.path / "found.json").write_text("old")
    result = recode("--recode-validate", "--recode-validate-json=found.json", "-k", "a b")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (pytester.path / "found.json").read_text() == "old"


@pytest.mark.slow
def test_a_file_whose_directory_goes_fails_the_session(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task()
    (pytester.path / "out").mkdir()
    pytester.makeconftest("import pathlib\n\n\ndef pytest_runtest_setup():\n    pathlib.Path('out').rmdir()\n")
    result = recode("--recode-validate", "--recode-validate-json=out/found.json", "-k", "empty")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert_line("\n".join(result.outlines), "no --recode-validate-json", "found.json")

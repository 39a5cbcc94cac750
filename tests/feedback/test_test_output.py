from __future__ import annotations

from dataclasses import replace

from pytest_recode.feedback.test_output import full
from pytest_recode.verdict import Case, Exc, Outcome, Verdict

SOURCE = """\
    @pytest.mark.parametrize("n", [1, 2])
    def test_mean(candidate, n):
>       assert candidate.mean(n) == n
"""


def failed(name: str, why: str) -> Case:
    return Case(
        id=name,
        interface="stats.mean",
        outcome=Outcome.FAILED,
        kind="mismatch",
        message=f"n = {name[-2]}\n{SOURCE}{why}\n",
    )


def test_the_source_of_a_test_with_parameters_is_given_once() -> None:
    cases = (failed("t.py::test_mean[1]", "E  assert 0 == 1"), failed("t.py::test_mean[2]", "E  assert 0 == 2"))
    text = full(Verdict(seed=1, cases=(*cases, failed("t.py::test_mean_x[3]", "E  assert 0 == 3"))), ("stats.py",))
    first, second, other = text.split("FAILED ")[1:]
    assert "def test_mean(" in first
    assert "def test_mean(" not in second
    assert [line.strip() for line in second.splitlines()] == [
        "t.py::test_mean[2]",
        "(The source of this test is above, at t.py::test_mean[1].)",
        "n = 2",
        ">       assert candidate.mean(n) == n",
        "E  assert 0 == 2",
    ]
    assert "def test_mean(" in other


def test_of_one_failed_import_the_first_case_alone_has_its_report() -> None:
    raised = Exc(type="SyntaxError", message="bad", frames=("stats.py:3: x = )",))
    cases = [replace(failed(f"t.py::test_{n}[1]", "E  bad"), kind="exception", exception=raised) for n in range(3)]
    text = full(Verdict(seed=1, cases=tuple(cases)), ("stats.py",))
    assert text.count("def test_mean(") == text.count("E  bad") == 1
    assert text.count("    (stats.py cannot be imported: see t.py::test_0[1].)\n") == 2
    assert full(Verdict(seed=1, cases=tuple(cases)), ("other.py",)).count("E  bad") == 3

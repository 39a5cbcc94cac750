"""--recode-validate with a task's proofs/: right answers, wrong answers, and mutants that change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.messages import assert_line
from tests.plugin.conftest import FILES, MakeTask, words

Run = Callable[..., pytest.RunResult]

INSTRUCTION = "Write answer.py with twice(x) and half(x).\n`twice` keeps\nthe sign. `half` is exact.\n"
RIGHT = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return 0.5 * x\n"
WRONG = "def twice(x):\n    return abs(x + x)\n\n\ndef half(x):\n    return 0.5 * x\n"
TESTS = FILES["tests/test_answer.py"] + (
    "\n\n@pytest.mark.interface('answer.twice')\ndef test_sign(candidate):\n    assert candidate.answer.twice(-1.0) == -2.0\n"
)
REQUIREMENT = "requirement: '`twice` keeps the sign'\ninterface: answer.twice\ncases: [test_sign]\n"
PROVED: dict[str, str | None] = {
    "instruction.md": INSTRUCTION,
    "tests/test_answer.py": TESTS,
    "proofs/right/sum/answer.py": RIGHT,
    "proofs/wrong/no-sign/answer.py": WRONG,
    "proofs/wrong/no-sign/requirement.yaml": REQUIREMENT,
}


@pytest.mark.slow
def test_a_proved_task(make_task: MakeTask, recode: Run, workers: str) -> None:
    make_task(files=PROVED)
    result = recode(workers, "-v", "--recode-validate")
    result.assert_outcomes(passed=9)
    text = words(result)
    assert re.search(r"tiny right answers ok \d", text)
    assert re.search(r"tiny wrong answers ok \d", text)
    for interface in ("twice", "half"):
        mutants = re.search(rf"tiny mutants of answer.{interface} (\d+) of (\d+) detected", text)
        assert mutants
        assert 0 < int(mutants[1]) <= int(mutants[2])
    assert "tiny: mutants 100 % of 9, 1 wrong answer, 3 seeds ===" in text


@pytest.mark.slow
def test_a_check_without_anything_to_grade_is_not_collected(make_task: MakeTask, recode: Run) -> None:
    make_task(files={**PROVED, "proofs/right/sum/answer.py": None, "proofs/right/.DS_Store": ""})
    result = recode("--recode-validate", "-k", "right or wrong or empty")
    result.assert_outcomes(passed=2, deselected=6)
    text = words(result)
    assert re.search(r"tiny empty target ok \d", text)
    assert re.search(r"tiny wrong answers ok \d", text)
    assert "tiny right" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "check", "says"),
    [
        (
            {"proofs/right/sum/answer.py": RIGHT.replace("0.5", "0.6")},
            "right",
            "tiny: proofs/right/sum fails 1 of 3 cases with seed ",
        ),
        (
            {"proofs/wrong/no-sign/answer.py": RIGHT},
            "wrong",
            "although it violates '`twice` keeps the sign' (answer.twice). Add a case that fails for it under every seed, or correct the answer, if it does not violate the requirement.",
        ),
        (
            {"proofs/wrong/no-sign/answer.py": RIGHT.replace("0.5", "0.6")},
            "wrong",
            "but in none of test_sign: it violates '`twice` keeps the sign' (answer.twice), and fails test_answer.py::test_half.",
        ),
        (
            {"proofs/equivalent.txt": "# nothing\n\nanswer.py twice: return x * TWO -> return x * 3\n"},
            "mutants-answer.twice",
            "equivalent.txt:3: names no mutant of the reference.",
        ),
        (
            {"proofs/equivalent.txt": "answer.py twice: return x * TWO -> return x / TWO\n"},
            "mutants-answer.twice",
            "equivalent.txt:1: is not equivalent: the tests notice it (test_answer.py::test_twice, seed ",
        ),
    ],
)
def test_what_a_proof_finds_fails_its_check(
    make_task: MakeTask, recode: Run, files: dict[str, str | None], check: str, says: str
) -> None:
    make_task(files={**PROVED, **files})
    result = recode("--recode-validate", "-k", check)
    result.assert_outcomes(failed=1)
    assert says in words(result)
    assert ("(3 of 3 seeds; repeat it with --recode-seed=" in words(result)) == (check in ("right", "wrong"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "check", "says"),
    [
        (
            {"proofs/notes.md": "x"},
            "right",
            "notes.md: unknown file; proofs/ may contain right, wrong and equivalent.txt",
        ),
        (
            {"proofs/right/sum/other.py": "x"},
            "right",
            "other.py: is not a target; an answer may contain only: answer.py",
        ),
        (
            {"proofs/right/sum/answer.py": None, "proofs/right/sum/x.py": ""},
            "right",
            "answer.py: no such file; an answer must contain every target",
        ),
        ({"proofs/right/alone.py": ""}, "right", "alone.py: must be a directory that contains the targets"),
        ({"proofs/wrong/no-sign/requirement.yaml": None}, "wrong", "requirement.yaml: no such file"),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT.replace("keeps", "drops")},
            "wrong",
            "requirement.yaml:1: requirement: must be a verbatim quotation from instruction.md or paper.md (line breaks are ignored); copy the sentence; the nearest one is: `twice` keeps the sign.",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT.replace("answer.twice", "answer.thrice")},
            "wrong",
            "requirement.yaml:2: interface: must be one of answer.twice, answer.half, not 'answer.thrice'",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT.replace("test_sign", "test_sing")},
            "wrong",
            "proofs/wrong/no-sign/requirement.yaml: cases: no hidden test has the name test_sing (did you mean test_sign?): choose from test_twice, test_sign",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT.replace("test_sign", "test_half")},
            "wrong",
            "cases: test_half is about answer.half, not about answer.twice: choose from test_twice, test_sign, or correct `interface`",
        ),
        (
            {"proofs/equivalent.txt": "answer.py: a -> b\nanswer.py: a -> b\n"},
            "mutants-answer.half",
            "equivalent.txt:2: is also listed in line 1; keep one",
        ),
    ],
)
def test_a_mistake_in_the_proofs_is_one_line(
    make_task: MakeTask, recode: Run, files: dict[str, str | None], check: str, says: str
) -> None:
    make_task(files={**PROVED, **files})
    result = recode("--recode-validate", "-k", check)
    result.assert_outcomes(errors=1)
    assert says in words(result)


def test_every_wrong_answer_at_fault_is_named_at_once(make_task: MakeTask, recode: Run) -> None:
    other = {f"proofs/wrong/{name}/requirement.yaml": REQUIREMENT.replace("answer.twice", name) for name in "ab"}
    make_task(files={**PROVED, **{name.replace("requirement.yaml", "answer.py"): WRONG for name in other}, **other})
    result = recode("--recode-validate", "-k", "wrong")
    result.assert_outcomes(errors=1)
    for name in "ab":
        assert f"proofs/wrong/{name}/requirement.yaml:2: interface: must be one of" in words(result)


CHANGED = """\
changes:
  - file: answer.py
    old: |2
          return x * TWO
    new: |2
          return abs(x * TWO)
"""
IN_CHANGES: dict[str, str | None] = {
    **PROVED,
    "proofs/wrong/no-sign/answer.py": None,
    "proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + CHANGED,
}


@pytest.mark.slow
def test_a_wrong_answer_may_be_given_by_its_changes_of_the_reference(make_task: MakeTask, recode: Run) -> None:
    make_task(files=IN_CHANGES)
    recode("--recode-validate", "-k", "wrong").assert_outcomes(passed=1)
    right = {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + CHANGED.replace("abs(x * TWO)", "x + x")}
    make_task(files={**IN_CHANGES, **right})
    result = recode("--recode-validate", "-k", "wrong")
    result.assert_outcomes(failed=1)
    assert "tiny: proofs/wrong/no-sign solves the task" in words(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {
                "proofs/wrong/no-sign/requirement.yaml": REQUIREMENT
                + CHANGED.replace("|2\n          return x * TWO", "|\n      def twice(x):\n      return x * TWO", 1)
            },
            "changes: this text occurs 0 times in reference/answer.py; with another indentation it does: write `old: |2` and `new: |2`",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + CHANGED.replace("return x * TWO", "return", 1)},
            "requirement.yaml:6: changes: this text occurs 0 times in reference/answer.py; copy the text from there again",
        ),
        (
            {
                "proofs/wrong/no-sign/requirement.yaml": REQUIREMENT
                + CHANGED.replace("|2\n          return x * TWO", "TWO", 1)
            },
            "times in reference/answer.py; add text before or after it, until it occurs once",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + CHANGED.replace("file: answer.py", "file: a.py")},
            "must be one of answer.py, not 'a.py'",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + CHANGED.replace("abs(x * TWO)", "x * TWO")},
            "changes: `new` is the same as `old`; write what is wrong there",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + CHANGED.replace("abs(x * TWO)", "abs(x * TWO")},
            "proofs/wrong/no-sign: answer.py is not valid Python after `changes` (line",
        ),
        (
            {"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + "changes: []\n"},
            "changes: is an empty list; give at least one of: changes of the reference",
        ),
        (
            {"proofs/wrong/no-sign/answer.py": WRONG},
            "answer.py: provide either the targets of the answer or `changes` of the reference",
        ),
    ],
)
def test_a_mistake_in_changes_is_one_line(
    make_task: MakeTask, recode: Run, files: dict[str, str | None], says: str
) -> None:
    make_task(files={**IN_CHANGES, **files})
    result = recode("--recode-validate", "-k", "wrong")
    result.assert_outcomes(errors=1)
    assert says in words(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "check"),
    [
        ({"proofs/wrong/no-sign/requirement.yaml": REQUIREMENT + CHANGED.replace("TWO", "THREE", 1)}, "wrong answers"),
        ({"proofs/right/sum/other.py": "x"}, "right answers"),
    ],
)
def test_a_mistake_in_a_part_of_the_proofs_stops_only_the_check_that_reads_it(
    make_task: MakeTask, recode: Run, files: dict[str, str | None], check: str
) -> None:
    make_task(files={**IN_CHANGES, **files})
    result = recode("--recode-validate")
    result.assert_outcomes(passed=8, errors=1)
    assert f"tiny {check} error" in words(result)


@pytest.mark.slow
def test_an_episode_does_not_read_the_proofs(make_task: MakeTask, recode: Run) -> None:
    make_task(files={**PROVED, "proofs/notes.md": "x"})
    recode("--recode-agent=reference").assert_outcomes(passed=1)


WEAK: dict[str, str | None] = {
    "tests/test_answer.py": FILES["tests/test_answer.py"].replace("(1.5) == 3.0", "(0.0) == 0.0"),
    "reference/answer.py": "from constants import TWO\n\n\ndef twice(x):\n    # exact\n    return x * TWO  # not x + x\n\n\ndef half(x):\n    return x / TWO\n",
}
DIFF = """\
tiny: 2 mutants survive every case: answer.py:6 in twice (answer.twice)
    --- reference/answer.py
    +++ mutant/answer.py
    @@ -4,5 +4,5 @@
     def twice(x):
         # exact
    -    return x * TWO  # not x + x
    +    return x / TWO  # not x + x
 or +    return x  # not x + x


    nearest case: test_answer.py::test_twice, which detects a mutant of line 6
    answer.py twice: return x * TWO -> return x / TWO
    answer.py twice: return x * TWO -> return x
"""


@pytest.mark.slow
def test_a_survivor_is_a_diff_of_the_reference_and_names_the_nearest_case(make_task: MakeTask, recode: Run) -> None:
    make_task(files=WEAK)
    result = recode("--recode-validate", "-k", "mutants-answer.twice")
    result.assert_outcomes(passed=1)
    assert DIFF in re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(result.outlines))


@pytest.mark.slow
def test_right_answers_are_mutated_too(make_task: MakeTask, recode: Run) -> None:
    """The tests miss a mistake that the reference's form cannot have; one mutant is listed, and one line names none."""
    form = "def twice(x):\n    return x + x if x > 1 else 2 * x\n\n\ndef half(x):\n    return 0.5 * x\n"
    listed = "proofs/right/sum/answer.py twice: return x + x if x > 1 else 2 * x -> return x + x if x >= 1 else 2 * x"
    unknown = "proofs/right/sum/answer.py twice: return 7 -> return 8"
    make_task(files={**PROVED, "proofs/right/sum/answer.py": form, "proofs/equivalent.txt": f"{listed}\n{unknown}\n"})
    result = recode("--recode-validate", "--recode-validate-right-mutants", "-k", "mutants", "--color=no")
    result.assert_outcomes(passed=2, failed=1, deselected=7)
    text = words(result)
    assert "equivalent.txt:2: names no mutant of proofs/right/sum." in text
    assert re.search(r"tiny mutants of proofs/right/sum (\d+) of (\d+) detected", text) or "problem" in text
    assert "--- proofs/right/sum/answer.py" in text
    assert "if x > 2 else 2 * x" in text
    assert "x >= 1" not in text.replace(listed, "")


@pytest.mark.slow
def test_without_a_detected_mutant_the_cases_of_the_interface_are_named(make_task: MakeTask, recode: Run) -> None:
    tests = FILES["tests/test_answer.py"].replace("assert candidate.answer.twice(1.5) == 3.0", "candidate.answer.twice")
    make_task(files={"tests/test_answer.py": tests})
    text = words(recode("--recode-validate", "-k", "mutants-answer.twice"))
    assert "cases that use answer.twice: test_answer.py::test_twice answer.py twice: return x * TWO ->" in text


IDLE = """

@pytest.mark.interface('answer.half')
def test_idle(candidate):
    candidate.answer.half(1.5)


@pytest.mark.interface('answer.twice')
@pytest.mark.parametrize("x", [1.5, 2.5])
def test_after_another_case(candidate, x):
    assert candidate.answer.twice(x) == 2 * x
"""


@pytest.mark.slow
def test_cases_that_fail_for_no_mutant_and_no_wrong_answer_are_named(
    make_task: MakeTask, recode: Run, workers: str
) -> None:
    """Those that fail only after another case has failed are not among them."""
    make_task(files={**PROVED, "tests/test_answer.py": TESTS + IDLE})
    text = words(recode(workers, "--recode-validate", "-k", "wrong or mutants"))
    assert (
        "tiny: fail for no mutant and no wrong answer, so they prove nothing: test_answer.py::test_idle small" in text
    )


@pytest.mark.slow
@pytest.mark.parametrize("selected", ["wrong", "mutants", "wrong or mutants-answer.half"])
def test_with_a_part_of_the_checks_it_is_not_known_which_cases_prove_nothing(
    make_task: MakeTask, recode: Run, selected: str
) -> None:
    make_task(files={**PROVED, "tests/test_answer.py": TESTS + IDLE})
    text = words(recode("--recode-validate", "-k", selected))
    assert (
        "cases that prove nothing: not known for tiny, because not all mutants and wrong answers were graded: run every check"
        in text
    )
    assert "test_idle" not in text


@pytest.mark.slow
def test_a_survivor_can_be_copied_to_the_equivalent_mutants(make_task: MakeTask, recode: Run) -> None:
    make_task(files=WEAK)
    line = "answer.py twice: return x * TWO -> return x / TWO"
    assert line in words(recode("--recode-validate", "-k", "mutants"))
    make_task(files={**WEAK, "proofs/equivalent.txt": line + "\n"})
    assert line not in words(recode("--recode-validate", "-k", "mutants"))


@pytest.mark.slow
def test_a_reference_cannot_write_to_the_terminal(make_task: MakeTask, recode: Run) -> None:
    reference = FILES["reference/answer.py"]
    assert reference is not None
    make_task(files={**WEAK, "reference/answer.py": reference.replace("x * TWO", "x * TWO  # \x1b[2J\u202e")})
    text = "\n".join(recode("--recode-validate", "-k", "mutants-answer.twice", "--color=no").outlines)
    assert "\\x1b[2J\\u202e" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.slow
def test_the_number_of_seeds(make_task: MakeTask, recode: Run, workers: str) -> None:
    """An answer that is wrong for one secret number in two is found out by many seeds."""
    tests = (
        "import pytest\n\n\n@pytest.mark.interface('answer.half')\ndef test_half(candidate, rng):\n"
        "    x = float(rng.integers(2))\n    assert candidate.answer.half(x) == x / 2\n"
    )
    wrong = "def half(x):\n    return x\n\n\ndef twice(x):\n    return 2 * x\n"
    make_task(files={"tests/test_answer.py": tests, "proofs/right/even/answer.py": wrong})
    result = recode(workers, "--recode-validate", "--recode-validate-seeds=40", "-k", "right")
    result.assert_outcomes(failed=1)
    assert "proofs/right/even fails 1 of 1 cases" in words(result)


RANDOM = """\
import random

import pytest


@pytest.mark.interface("answer.twice")
def test_twice(candidate):
    x = random.choice([-1.5, 1.5])
    assert candidate.answer.twice(x) == 2 * x


@pytest.mark.interface("answer.half")
def test_half(candidate):
    assert candidate.answer.half(1.5) == 0.75
"""
DEPENDS = (
    r"test_answer.py::test_twice depends on the seed: it fails with seeds? (\d+, )*\d+( and \d+ more)?, "
    r"and passes with seeds? (\d+, )*\d+( and \d+ more)?"
)


@pytest.mark.slow
def test_a_case_that_depends_on_the_seed_is_named_with_the_seeds(make_task: MakeTask, recode: Run) -> None:
    """A case detects the wrong answer for one secret number in two."""
    requirement = REQUIREMENT.replace("test_sign", "test_twice")
    wrong = {"tests/test_answer.py": RANDOM, "proofs/wrong/no-sign/requirement.yaml": requirement}
    make_task(files={**PROVED, **wrong})
    result = recode("--recode-validate", "--recode-validate-seeds=30", "-k", "wrong")
    result.assert_outcomes(failed=1)
    text = words(result)
    assert re.search(r"Add a case that fails for it under every seed, .* the requirement\. " + DEPENDS, text)
    counted = re.search(r"solves the task with seed \d+ \((\d+) of 30 seeds; repeat it with", text)
    assert counted
    assert 0 < int(counted[1]) < 30


@pytest.mark.slow
def test_a_case_that_depends_on_the_seed_beside_one_that_does_not(make_task: MakeTask, recode: Run) -> None:
    """The wrong answer is detected under every seed, so that only -v lists the case."""
    tests = RANDOM + TESTS[TESTS.index("\n\n@pytest.mark.interface('answer.twice')") :]
    requirement = REQUIREMENT.replace("test_sign", "test_sign, test_twice")
    assert requirement != REQUIREMENT
    wrong = {"tests/test_answer.py": tests, "proofs/wrong/no-sign/requirement.yaml": requirement}
    make_task(files={**PROVED, **wrong})
    command = ("--recode-validate", "--recode-validate-seeds=30", "-k", "wrong")
    result = recode(*command, "-v")
    result.assert_outcomes(passed=1)
    assert re.search(r"tiny \(wrong\): proofs/wrong/no-sign: " + DEPENDS, words(result))
    assert "depends on the seed" not in words(recode(*command))


def test_the_number_of_seeds_by_ini(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task(files=PROVED)
    pytester.makeini("[pytest]\nrecode_validate_seeds = 0\n")
    assert "recode_validate_seeds=0 is not a whole number from 1 to 10000" in words(recode("--recode-validate"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("pytest>=1\n", ""),
        ("pytest<1\n", "requirements.txt asks for pytest<1, but "),
        ("no-such-package-at-all\n", "requirements.txt asks for no-such-package-at-all, which is not installed"),
        ("# pytest<1\n-r other.txt\nhttps://example.org/x.whl\npytest<1; python_version < '3'\n", ""),
    ],
)
def test_requirements_that_the_interpreter_does_not_meet(
    make_task: MakeTask, recode: Run, line: str, says: str
) -> None:
    make_task(files={"environment/requirements.txt": line})
    result = recode("--recode-validate", "-k", "reference")
    result.assert_outcomes(passed=1)
    text = words(result)
    assert says in text
    assert ("asks for" in text) == bool(says)


@pytest.mark.slow
def test_sentences_of_the_instruction_that_no_wrong_answer_quotes(make_task: MakeTask, recode: Run) -> None:
    make_task(files=PROVED)
    text = words(recode("--recode-validate", "-k", "wrong", "-vv"))
    assert (
        "tiny: no wrong answer quotes: Write answer.py with twice(x) and half(x). `half` is exact. tiny: 1 wrong"
        in text
    )
    assert "no wrong answer quotes:" not in words(recode("--recode-validate", "-k", "wrong", "-v"))


@pytest.mark.slow
def test_a_task_whose_files_lack_its_canary_or_show_its_reference_fails(make_task: MakeTask, recode: Run) -> None:
    lines = "".join(f"    total += x ** {power} / {power}\n" for power in range(2, 9))
    code = f"def half(x):\n    total = 0.0\n{lines}    return x / 2 + 0 * total\n"
    make_task(
        manifest="canary: recode-canary 8b6f0c9e-3f57-4c5d-9d0e-2a1b3c4d5e6f\n",
        files={"reference/answer.py": f"def twice(x):\n    return 2 * x\n\n\n{code}", "paper.md": f"So:\n\n{code}"},
    )
    result = recode("--recode-validate", "-k", "reference or canary or brief")
    result.assert_outcomes(passed=1, failed=2)
    assert_line(result.stdout.str(), "paper.md:3", "reference/answer.py:5-14", "in words or formulas")
    assert "of its files lack the canary of task.yaml: " in words(result)
    assert re.search(r"tiny canary problem \d.* tiny reference ok \d", words(result))


@pytest.mark.slow
def test_a_task_that_cannot_be_read_stops_the_others_unless_the_user_says_otherwise(
    make_task: MakeTask, recode: Run, workers: str
) -> None:
    """What is then counted are checks, because a validation has no episodes."""
    make_task()
    make_task("wrong", manifest="no_such_key: 1\n")
    stopped = words(recode("--recode-validate"))
    assert "not run: all 7 checks" in stopped
    assert "episode" not in stopped
    assert "not run: 1 check " in words(recode("--recode-validate", "-k", "empty"))
    result = recode(workers, "--recode-validate", "-k", "empty", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    assert "not run" not in words(result)


def test_names_of_a_task_that_cannot_be_read_are_not_called_unknown(make_task: MakeTask, recode: Run) -> None:
    make_task(manifest="no_such_key: 1\n")
    result = recode("--recode-validate", "-k", "not mutants")
    result.assert_outcomes(errors=1)
    assert "nothing has this name" not in words(result)

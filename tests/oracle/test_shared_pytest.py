"""Hidden tests that import the target: pytest tests in one process with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Limits, Oracle, Parts, Task
from pytest_recode.verdict import Exc, Outcome, Verdict
from tests.oracle.conftest import ENVIRONMENT, files, only

REPO = {
    "stats.py": "def mean(values):\n    raise NotImplementedError\n",
    "src/tools/__init__.py": "",
    "src/tools/scale.py": "import stats\n\nFACTOR = 1\n\n\ndef scaled(values):\n    return FACTOR * stats.mean(values)\n",
}
RIGHT = """\
def mean(values):
    return float(sum(values) / len(values))


def spread(values):
    from tools.scale import scaled

    middle = scaled(values)
    return float(sum((value - middle) ** 2 for value in values) / len(values))
"""
TESTS = {
    "conftest.py": """\
        import pytest

        @pytest.fixture
        def values(rng):
            return 3.0 + rng.normal(size=6)  # a mean near 0 would hide what is added instead of subtracted
        """,
    "canonical.py": """\
        from helpers.norms import one

        def mean(values):
            return one(values) / len(values)
        """,
    "helpers/norms.py": "def one(values):\n    return float(sum(values))\n",
    "expected.txt": "2.0",
    "test_stats.py": """\
        import pytest
        import stats
        from canonical import mean
        from pytest_recode.testing import assert_equivalent
        from stats import spread
        from tools.scale import scaled

        @pytest.mark.interface("stats.mean")
        @pytest.mark.parametrize("more", [[1.0], [2.0, 3.0]], ids=["one", "two"])
        def test_same_as_canonical(values, more):
            values = [*values, *more]
            assert_equivalent(stats.mean(values), mean(values))

        def test_mean_of_a_file(hidden_files):
            assert stats.mean([1.0, 3.0]) == float(hidden_files["expected.txt"])

        def test_spread_same_as_the_authors(values, reference):
            assert spread is not reference.stats.spread
            assert scaled is not reference.tools.scale.scaled
            assert_equivalent(spread(values), reference.stats.spread(values))
        """,
}
INTERFACES = ("stats.mean", "stats.spread", "tools.scale")
CASES = [
    ("test_stats.py::test_same_as_canonical[one]", "stats.mean"),
    ("test_stats.py::test_same_as_canonical[two]", "stats.mean"),
    ("test_stats.py::test_mean_of_a_file", "stats.mean"),
    ("test_stats.py::test_spread_same_as_the_authors", "stats.spread"),
]

Grade = Callable[..., Verdict]


def graded(
    sandbox: Sandbox,
    candidate: dict[str, str] | str,
    tests: dict[str, str] | str = TESTS,  # type: ignore[assignment]
    reference: str = RIGHT,
    *,
    seed: int | None = None,
    interfaces: tuple[str, ...] = INTERFACES,
    target: str = "stats.py",
    **limits: float,
) -> Verdict:
    parts = Parts(
        instruction="",
        paper=None,
        repo=files(REPO, ""),
        reference=files(reference, target),
        tests=files(tests, "test_stats.py"),
    )
    task = Task(
        id="t",
        title="t",
        format="directory",
        manifest=Path("/tasks/t/task.yaml"),
        targets=(target,),
        interfaces=interfaces,
        load=lambda: parts,
        environment=ENVIRONMENT,
        limits=Limits(**limits),  # type: ignore[arg-type]
        oracle=Oracle(isolation="shared"),
    )
    return judge(task, parts, files(candidate, target), sandbox, seed=seed)


def outcomes(verdict: Verdict) -> list[str]:
    return [case.outcome.value for case in verdict.cases]


def problem(sandbox: Sandbox, tests: dict[str, str] | str, **rest: float) -> str:
    with pytest.raises(GraderError) as caught:
        graded(sandbox, RIGHT, tests, **rest)  # type: ignore[arg-type]
    first, _, text = str(caught.value).partition("\n")
    assert first == "cannot be judged here: the reference does not pass its tests"
    return text


@pytest.mark.slow
def test_the_authors_code_passes_and_the_verdict_says_how_it_was_made(sandbox: Sandbox) -> None:
    verdict = graded(sandbox, RIGHT)
    assert (verdict.solved, verdict.tampering, verdict.isolation) == (True, (), "shared")
    assert [(case.id, case.interface) for case in verdict.cases] == CASES


def test_a_wrong_candidate_fails_where_it_is_wrong(sandbox: Sandbox) -> None:
    verdict = graded(sandbox, RIGHT.replace("(value - middle)", "(value + middle)"))
    assert outcomes(verdict) == ["passed", "passed", "passed", "failed"]
    wrong = verdict.cases[-1]
    assert (wrong.kind, wrong.exception) == ("mismatch", None)
    assert "assert_equivalent(spread(values), reference.stats.spread(values))" in wrong.message


def test_an_exception_is_told_by_the_candidates_own_frames(bare: Sandbox) -> None:
    verdict = graded(bare, RIGHT.replace("float(sum(values) /", "float(values.total /"))
    exception = verdict.cases[0].exception
    assert verdict.cases[0].kind == "exception"
    assert exception == Exc(
        type="AttributeError",
        message="'list' object has no attribute 'total'",
        frames=("stats.py:2 in mean: return float(values.total / len(values))",),
    )


@pytest.mark.slow
def test_an_assertion_in_a_function_that_the_candidate_calls_is_the_tests(bare: Sandbox) -> None:
    tests = """\
        import stats

        def refuse(value):
            assert value == "the secret", "not the secret"

        def test_mean():
            stats.mean(refuse)
        """
    caller = "def mean(call):\n    return call('the secret')\n"
    verdict = graded(bare, caller.replace("the secret", "a guess"), tests, caller)
    assert (only(verdict).kind, only(verdict).exception) == ("assertion", None)
    assert "not the secret" in only(verdict).message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("candidate", "kind", "frames"),
    [
        ("def mean(values:\n", "SyntaxError", ("stats.py:1: def mean(values:",)),
        (
            "import nothing_of_that_name\n",
            "ModuleNotFoundError",
            ("stats.py:1 in <module>: import nothing_of_that_name",),
        ),
        ("def mean(values):\n    return 0.0\n", "ImportError", ()),
        ("raise SystemExit(0)\n", "SystemExit", ("stats.py:1 in <module>: raise SystemExit(0)",)),
    ],
    ids=["syntax", "import", "name", "exit"],
)
def test_what_cannot_be_imported_fails_every_case_of_the_file(
    bare: Sandbox, candidate: str, kind: str, frames: tuple[str, ...]
) -> None:
    other = {**TESTS, "test_other.py": "def test_scale():\n    from tools import scale\n    assert scale.FACTOR\n"}
    verdict = graded(bare, candidate, {**other, "test_scale.py": other.pop("test_other.py")})
    failed = [case for case in verdict.cases if case.outcome is Outcome.FAILED and "test_stats" in case.id]
    assert [(case.id, case.interface) for case in failed] == CASES
    for case in failed:
        assert case.exception is not None
        assert (case.kind, case.exception.type, case.exception.frames) == ("exception", kind, frames)


@pytest.mark.slow
def test_a_file_that_can_be_imported_is_judged_beside_one_that_cannot(bare: Sandbox) -> None:
    tests = {
        "test_a.py": "from stats import spread\n\ndef test_spread():\n    assert spread([1, 3]) == 1\n",
        "test_b.py": "import stats\n\ndef test_mean():\n    assert stats.mean([1, 3]) == 2\n",
    }
    verdict = graded(bare, RIGHT.replace("def spread", "def width"), tests)
    assert [(case.id, case.outcome.value) for case in verdict.cases] == [
        ("test_a.py::test_spread", "failed"),
        ("test_b.py::test_mean", "passed"),
    ]


@pytest.mark.slow
def test_a_target_that_is_missing_fails(bare: Sandbox) -> None:
    verdict = graded(bare, {})
    assert outcomes(verdict) == ["failed"] * 4
    assert verdict.cases[0].exception is not None
    assert verdict.cases[0].exception.type == "ModuleNotFoundError"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_inputs(bare: Sandbox) -> None:
    tests = """\
        import random

        import numpy as np
        import stats

        def test_mean(rng):
            drawn = (rng.integers(10**9), random.random(), np.random.random())
            assert stats.mean([1]) == 1, drawn
        """
    wrong = "def mean(values):\n    return 0.0\n"
    first, again, other = (only(graded(bare, wrong, tests, seed=seed)).message for seed in (5, 5, 6))
    assert first == again != other


DESCENT = """\
class Descent:
    def __init__(self, centre):
        self.centre = centre

    def gradient(self, x):
        return 2 * (x - self.centre)

    def run(self, steps):
        x = 0 * self.centre
        for _ in range(steps):
            x = x - 0.1 * self.gradient(x)
        return x
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slip", "failing"),
    [
        (("0.1", "0.1"), []),
        (("2 * (x", "(x"), ["descent.Descent.gradient"]),
        (("range(steps)", "range(steps - 1)"), ["descent.Descent.run"]),
        (("0.1", "-0.1"), ["descent.Descent.run"]),
    ],
    ids=["right", "gradient", "steps", "sign"],
)
def test_the_example_of_the_documentation(bare: Sandbox, slip: tuple[str, str], failing: list[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "task-format.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(# tests/test_descent.py\n.*?)```", page, re.DOTALL)
    tests = {"test_descent.py": example, "canonical.py": "def minimum(centre):\n    return centre\n"}
    interfaces = ("descent.Descent.run", "descent.Descent.gradient")
    candidate = DESCENT.replace(*slip)
    verdict = graded(bare, candidate, tests, DESCENT, interfaces=interfaces, target="descent.py")
    assert (len(verdict.cases), list(verdict.failing_interfaces)) == (3, failing)


UNITTEST = """\
    import unittest
    import stats
    from canonical import mean

    class TestStats(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.values = [1.0, 3.0]

        def setUp(self):
            self.right = mean(self.values)

        def test_mean(self):
            self.assertAlmostEqual(stats.mean(self.values), self.right)

        def test_more(self):
            for value in (1.0, 2.0):
                with self.subTest(value=value):
                    self.assertEqual(stats.mean([value]), value)
    """


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slip", "failing"),
    [(("sum", "sum"), []), (("/ len(values)", "/ 2"), ["test_more"]), (("sum", "min"), ["test_mean"])],
    ids=["right", "length", "minimum"],
)
def test_classes_of_unittest(bare: Sandbox, slip: tuple[str, str], failing: list[str]) -> None:
    tests = {"canonical.py": "def mean(values):\n    return sum(values) / len(values)\n", "test_stats.py": UNITTEST}
    verdict = graded(bare, RIGHT.replace(*slip, 1), tests, interfaces=("stats.mean",))
    found = [case.id.rpartition("::")[2] for case in verdict.cases if case.outcome is not Outcome.PASSED]
    assert (len(verdict.cases), found) == (2, failing)


# Whom the tests' own files are for


SEARCH = """\
import os, sys


def mean(values):
    found = [name for name in sys.modules if "canonical" in name or "norms" in name or "test_" in name.rpartition(".")[2]]
    found = [name for name in found if not name.startswith(("_pytest", "numpy", "_recode", "pytest_recode"))]
    for place in (".", os.environ.get("TMPDIR", "/tmp")):
        for directory, below, names in os.walk(place):
            below[:] = [each for each in below if os.path.join(directory, each) not in (sys.prefix, sys.base_prefix)]
            for name in names:
                with open(os.path.join(directory, name), "rb") as file:
                    data = file.read()
                if b"test_same" b"_as_canonical" in data or b"def " b"one(" in data or b"mid" b"dle" in data:
                    found.append(os.path.join(directory, name))
    raise LookupError(f"found {found}")
"""


def test_neither_tests_nor_reference_are_on_the_disk_or_among_the_modules(walls: Sandbox) -> None:
    verdict = graded(walls, SEARCH + "\n\ndef spread(values):\n    return 0.0\n")
    case = verdict.cases[0]
    assert case.exception is not None
    # the tests' values are in the message of another case; here: what a search finds
    assert (case.exception.type, case.exception.message) == ("LookupError", "found []")


@pytest.mark.slow
@pytest.mark.parametrize("line", ["import canonical", "from helpers import norms", "import test_stats"])
def test_only_the_tests_may_import_their_modules(bare: Sandbox, line: str) -> None:
    verdict = graded(bare, RIGHT.replace("    return float(sum(values)", f"    {line}\n    return float(sum(values)"))
    case = verdict.cases[0]
    assert case.exception is not None
    assert case.exception.type == "ModuleNotFoundError"
    name = line.split()[1] if "norms" not in line else "helpers"
    assert case.exception.message == f"No module named '{name}'"
    assert not verdict.solved


@pytest.mark.slow
def test_a_folder_of_the_tests_does_not_hide_a_package_of_the_repository(bare: Sandbox) -> None:
    tests = {"tools/test_scale.py": "from tools.scale import FACTOR\n\ndef test_scale():\n    assert FACTOR == 1\n"}
    assert only(graded(bare, RIGHT, tests)).id == "tools/test_scale.py::test_scale"


@pytest.mark.slow
def test_tests_that_are_a_package(bare: Sandbox) -> None:
    tests = {**TESTS, "__init__.py": "", "helpers/__init__.py": ""}
    tests["canonical.py"] = tests["canonical.py"].replace("from helpers", "from .helpers")
    tests["test_stats.py"] = tests["test_stats.py"].replace("from canonical", "from .canonical")
    assert graded(bare, RIGHT, tests).solved


# What judges it


@pytest.mark.slow
def test_pytest_that_was_changed_is_tampering(bare: Sandbox) -> None:
    tests = "import pytest\nimport stats\n\ndef test_mean():\n    assert stats.mean(pytest) == pytest.approx(1.0)\n"
    good = "def mean(judge):\n    return 1.0\n"
    verdict = graded(bare, "def mean(judge):\n    judge.approx = float\n    return 1.0\n", tests, good)
    assert outcomes(verdict) == ["passed"]
    assert any("pytest.approx" in told for told in verdict.tampering)
    assert not verdict.solved


def test_a_word_that_is_the_name_of_a_module_of_the_tests_is_no_tampering(bare: Sandbox) -> None:
    assert graded(bare, RIGHT.replace("mean(values):", "mean(values, mode='canonical'):", 1)).solved


def test_an_object_that_equals_everything_is_not_equivalent(bare: Sandbox) -> None:
    liar = "class Same(float):\n    __eq__ = __ge__ = __le__ = lambda self, other: self is self\n    __sub__ = __rsub__ = __abs__ = lambda self, *other: 0.0\n    __hash__ = float.__hash__\n"
    verdict = graded(bare, liar + RIGHT.replace("return float(sum(values) ", "return Same(7.0) or (sum(values) "))
    assert outcomes(verdict)[:2] == ["failed", "failed"]
    assert verdict.cases[0].kind == "mismatch"


def test_an_object_that_is_no_plain_value_is_not_equivalent(bare: Sandbox) -> None:
    case = graded(
        bare, "class Mean:\n    pass\n" + RIGHT.replace("return float(sum(values) /", "return Mean() or (1 /")
    ).cases[0]
    assert case.kind == "protocol"
    assert "result is an object of stats.Mean, expected a value of type float" in case.message


@pytest.mark.parametrize("call", ["skip('no')", "xfail('no')", "exit('no')"])
def test_a_candidate_that_skips_its_tests_does_not_pass_them(bare: Sandbox, call: str) -> None:
    verdict = graded(bare, f"def mean(values):\n    import pytest\n    pytest.{call}\n\n\nspread = mean\n")
    assert outcomes(verdict) == ["failed"] * 4


@pytest.mark.slow
def test_a_case_that_hangs_takes_no_other_with_it(bare: Sandbox) -> None:
    hang = RIGHT.replace("def mean(values):\n", "def mean(values):\n    while len(values) == 8:\n        pass\n")
    verdict = graded(bare, hang, test_seconds=1.0)
    assert outcomes(verdict) == ["passed", "failed", "passed", "passed"]
    assert (verdict.cases[1].kind, verdict.cases[1].message) == ("timeout", "the test did not end within 1 s")


def test_a_case_that_ends_the_process_takes_no_other_with_it(bare: Sandbox) -> None:
    crash = """\
        from numpy import zeros
        from numpy.lib.stride_tricks import as_strided


        def mean(values):
            if len(values) == 8:
                return as_strided(zeros(1), (10**6,), (10**9,)).sum()
            return float(sum(values) / len(values))


        """
    verdict = graded(bare, dedent(crash) + RIGHT.partition("\n\n\n")[2])
    assert (outcomes(verdict), verdict.tampering) == (["passed", "failed", "passed", "passed"], ())
    died = verdict.cases[1]
    assert (died.kind, died.message) == (
        "died",
        "the process of the candidate and its tests ended: killed by signal 11",
    )


@pytest.mark.slow
def test_an_import_that_hangs(bare: Sandbox) -> None:
    verdict = graded(bare, "import time\n\ntime.sleep(99)\n", test_seconds=1.0)
    assert outcomes(verdict) == ["failed"] * 4
    assert {case.message for case in verdict.cases} == {"the import of the tests did not end within 1 s"}


@pytest.mark.slow
def test_the_grading_has_a_limit_too(bare: Sandbox) -> None:
    tests = "import pytest\nimport stats\n\n@pytest.mark.parametrize('n', range(40))\ndef test_mean(n):\n    assert stats.mean([1]) == 1\n"
    slow = "import time\n\n\ndef mean(values):\n    time.sleep(0.3)\n    return 1.0\n"
    verdict = graded(bare, slow, tests, test_seconds=1.0, grading_seconds=1.5)
    assert outcomes(verdict)[0] == "passed"
    assert outcomes(verdict)[-1] == "failed"
    assert verdict.cases[-1].message == "the grading's 1.5 s were used up"


# The authors' mistakes


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ("import pytest\n\n@pytest.mark.skip\ndef test_mean():\n    pass\n", "skipped ("),
        ("import pytest\n\n@pytest.mark.xfail\ndef test_mean():\n    assert 0\n", "expected to fail ()"),
        ("import pytest\n\nnothing = pytest.importorskip('nothing_there')\n", "do not skip hidden tests"),
        ("def test_nothing():\n    pass\n", "test_stats.py::test_nothing could test more than one interface: mark it"),
        ("def test_mean(candidate):\n    pass\n", "there is no `candidate` fixture"),
        ("def test_mean(nonesuch):\n    pass\n", "test_stats.py::test_mean asks for the fixture `nonesuch`, which does not exist: correct the name (there are reference, rng, hidden_files, "),
        ("test_mean = lambda: 1\n", "test_stats.py::test_mean is a lambda, which returns a value: write it as `def test_…`"),
        (
            "def test_mean(): ...\nclass TestMean:\n    def __init__(self): ...\n    def test_a(self): ...\n",
            "test_stats.py::TestMean has `__init__`, so pytest does not collect its test test_a: ",
        ),
        ("def test_mean():\n    return True\n", "must not return a value"),
        ("import nothing_there\n", "No module named 'nothing_there'"),
        ("def helper():\n    pass\n", "no tests"),
        ({"test_mean.py": "def test_mean(): pass\n", "sub/conftest.py": ""}, "only tests/conftest.py is supported"),
    ],
    ids=["skip", "xfail", "importorskip", "interface", "candidate", "fixture", "lambda", "init", "return", "import", "none", "conftest"],
)  # fmt: skip
@pytest.mark.mostly_slow
def test_tests_that_the_reference_does_not_pass_judge_nobody(
    bare: Sandbox, tests: dict[str, str] | str, words: str
) -> None:
    assert words in problem(bare, tests)


@pytest.mark.slow
def test_tests_that_do_not_end_with_the_reference(bare: Sandbox) -> None:
    assert problem(
        bare, "import time\n\ndef test_mean():\n    time.sleep(99)\n", grading_seconds=1.0, test_seconds=1.0
    ) == ("its tests did not end within 1 s")


FIRST_ONLY = """

def mean(values):
    return 2.0 if len(values) == 2 else 0.0


def spread(values):
    return 0.0
"""
AND_BACK = {
    "the hooks": """\
import pluggy
for Caller in [pluggy.HookCaller if hasattr(pluggy, "HookCaller") else pluggy._hooks._HookCaller]:
    pass
real, calls = Caller.__call__, []
def call(self, **named):
    if "call" in named and named["call"].excinfo is not None:
        named["call"].excinfo = None
        calls.append(1)
        if len(calls) == 3:
            Caller.__call__ = real
    return real(self, **named)
Caller.__call__ = call
""",
    "the comparison": """\
from pytest_recode.testing import assert_equivalent as same
find = type(lambda: 0).__dict__["__slabolg__"[::-1]].__get__
for Comparison in [find(find(same)["equivalence"].assert_equivalent)["_Comparison"]]:
    pass
real, calls = Comparison.compare, []
def compare(self, *rest):
    calls.append(1)
    if len(calls) == 3:
        Comparison.compare = real
Comparison.compare = compare
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AND_BACK)
def test_what_judges_is_not_changed_and_changed_back(bare: Sandbox, name: str) -> None:
    verdict = graded(bare, AND_BACK[name] + FIRST_ONLY)
    assert not verdict.solved
    assert verdict.tampering


FLAGGED = {
    'eval("1 + 1")': ("", 'eval("1 + 1")'),
    "os.chdir(…)": ("import os", "os.chdir('/')"),
    "gc.get_objects()": ("import gc", "gc.get_objects()"),
    "sys._getframe()": ("import sys", "sys._getframe()"),
    "subprocess.run(…)": ("import subprocess", "subprocess.run(['true'])"),
}
PAGE = Path(__file__).parents[2] / "docs/explanation/oracle-shared.md"


def test_the_page_of_the_threat_model_lists_the_honest_code_that_is_graded_here() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (?:refused|the same)", PAGE.read_text("utf-8"), re.MULTILINE)
    assert rows == list(FLAGGED)


@pytest.mark.parametrize("code", FLAGGED)
@pytest.mark.mostly_slow
def test_honest_code_that_the_page_of_the_threat_model_lists_is_flagged(bare: Sandbox, code: str) -> None:
    before, line = FLAGGED[code]
    body = RIGHT.replace("def mean(values):\n", f"def mean(values):\n    {line}\n")
    verdict = graded(bare, f"{before}\n\n\nclass Base: ...\n\n\n{body}")
    assert verdict.tampering
    assert set(outcomes(verdict)) == {"failed"}
    assert all("PermissionError" in case.message for case in verdict.cases)


IMPORTS = (
    "import builtins, importlib.machinery, linecache, marshal, pickle, signal, subprocess, sys, tracemalloc, unittest\n"
)


def test_code_that_imports_and_looks_is_not_flagged(bare: Sandbox) -> None:
    """Names alone say nothing: what counts is what is done."""
    looks = "TABLE = sys.modules\nbuiltins.abs(signal.getsignal(2) is None), vars(unittest), getattr(len, '__self__')\n"
    verdict = graded(bare, IMPORTS + looks + RIGHT)
    assert (verdict.solved, verdict.tampering) == (True, ())

"""What tests and candidates exchange arrives as it was: masks are refused, texts and NaN stay apart, generators spawn alike."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment
from pytest_recode.verdict import Outcome
from tests.oracle import conftest
from tests.oracle.conftest import grade, only

HEAD = "import numpy as np\nimport pytest\nfrom pytest_recode.testing import assert_equivalent\n\n"
SAME = HEAD + "def test_f(candidate, reference):\n    assert_equivalent(candidate.m.f(), reference.m.f())\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 1])", "np.ma.array([1.0, 2.0, 3.0])"),
        ("np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 1])", "np.array([1.0, 2.0, 3.0])"),
        ("np.ma.array([1.0], mask=[1]).mean()", "0.0"),
        ("{float('nan'): 1.0}", "{float('nan'): 7.0, -float('nan'): 1.0}"),
        ("{float('nan')}", "{float('nan'), -float('nan')}"),
        ("'\\U0001F600'", "'\\ud83d' + '\\ude00'"),
    ],
)
def test_a_wrong_answer_is_no_solution(right: str, wrong: str, bare: Sandbox) -> None:
    code = "import numpy as np\n\ndef f(): return "
    assert only(grade(bare, SAME, code + wrong, code + right)).outcome is Outcome.FAILED


def test_a_mask_is_no_plain_data(bare: Sandbox) -> None:
    """It would not be compared: the message says so, and a right answer does not pass by its data alone."""
    code = "import numpy as np\n\ndef f(): return np.ma.array([1.0, {}], mask=[0, 1])"
    case = only(grade(bare, SAME, code.format("9.0"), code.format("2.0")))
    assert "masked array, which is not plain data; compare `filled(...)` and the mask" in case.message


def test_text_travels_as_it_is(bare: Sandbox) -> None:
    code = "def f(): return '\\ud83d' + '\\ude00'"
    verdict = grade(bare, "def test_f(candidate, reference):\n    assert candidate.m.f() == reference.m.f()\n", code)
    assert verdict.solved, verdict.cases[0].message


@pytest.mark.parametrize("how", ["rng.spawn(2)", "map(np.random.default_rng, rng.bit_generator.seed_seq.spawn(2))"])
def test_streams_that_are_spawned(how: str, bare: Sandbox) -> None:
    tests = HEAD + (
        "def test_f(candidate, reference):\n    made = lambda: np.random.default_rng(5)\n"
        "    assert_equivalent(candidate.m.f(made()), reference.m.f(made()))\n"
    )
    verdict = grade(bare, tests, f"import numpy as np\n\ndef f(rng): return [each.normal() for each in {how}]")
    assert verdict.solved, verdict.cases[0].message[-300:]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["candidate", "reference"])
def test_the_same_seed_gives_the_same_verdict_without_preload(who: str, bare: Sandbox) -> None:
    tests = f"def test_f(candidate, reference):\n    candidate.m.f()\n    found = {who}.m.f()\n    assert found == 0\n"
    code = "import numpy as np\n\ndef f(): return float(np.random.random())\n"
    plain = Environment(requirements=conftest.ENVIRONMENT.requirements)
    first, again = (grade(bare, tests, code, seed=7, environment=plain).cases[0].message for _ in range(2))
    assert first == again


def test_an_exception_in_a_directory_that_is_gone(sandbox: Sandbox) -> None:
    tests = HEAD + (
        "def test_f(candidate):\n    assert candidate.m.f(1) == 1\n"
        "    with pytest.raises(ValueError):\n        candidate.m.f(-1)\n"
    )
    code = """
        import os, tempfile

        def f(x):
            if x < 0:
                raise ValueError("negative")
            with tempfile.TemporaryDirectory() as place:
                os.chdir(place)
                open("scratch", "w").close()
            return x
    """
    case = only(grade(sandbox, tests, code))
    assert case.outcome is Outcome.PASSED, case.message[:200]


@pytest.mark.parametrize("name", ["config", "json"])
def test_a_module_that_cannot_be_imported_by_its_name(name: str, bare: Sandbox) -> None:
    code = f"import types\n\n{name} = types.ModuleType('{name}')\n{name}.x = 1\n\ndef f(): ...\n"
    verdict = grade(bare, f"def test_f(candidate):\n    assert candidate.m.{name}.x == 1\n", code)
    assert verdict.solved, verdict.cases[0].message[-200:]

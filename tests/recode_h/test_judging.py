"""Annotations are judged as the benchmark means it, and an answer that reaches for the answer is not solved."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome, Verdict
from tests.recode_h.scene import DATASET, FILES, RIGHT, graded, task_of, write

MANIFEST = DATASET / "annotation_meta.jsonl"


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {case.id: case.outcome.value for case in verdict.cases}


def problem(sandbox: Sandbox, manifest: Path, index: int = 1) -> str:
    with pytest.raises(GraderError) as caught:
        graded(sandbox, task_of(manifest, index), RIGHT)
    first, _, text = str(caught.value).partition("\n")
    assert first == "cannot be judged here: the reference does not pass its tests"
    return text


@pytest.mark.slow
@pytest.mark.parametrize("index", [1, 2])
def test_the_canonical_is_solved_with_exactly_the_expected_cases(every_sandbox: Sandbox, index: int) -> None:
    task = task_of(MANIFEST, index)
    verdict = graded(every_sandbox, task)
    assert (verdict.solved, verdict.tampering, verdict.isolation) == (True, (), "shared")
    cases = task.load().cases
    assert {case.id: case.interface for case in verdict.cases} == cases
    assert len(cases) == task.facts["cases"]


@pytest.mark.parametrize("index", [1, 2])
@pytest.mark.parametrize("kind", ["untouched", "empty"])
@pytest.mark.mostly_slow
def test_what_is_there_before_anybody_wrote_is_not_solved(sandbox: Sandbox, index: int, kind: str) -> None:
    task = task_of(MANIFEST, index)
    begun = task.load().repo[task.targets[0]].decode()
    verdict = graded(sandbox, task, begun if kind == "untouched" else "")
    assert not verdict.solved
    assert verdict.tampering == ()


@pytest.mark.slow
def test_what_init_content_holds_counts(bare: Sandbox) -> None:
    task = task_of(MANIFEST, 2)
    verdict = graded(bare, task, task.load().repo[task.targets[0]].decode())
    assert [case for case, outcome in outcomes(verdict).items() if outcome == "passed"] == [
        "test_pinball_loss_is_least_at_the_quantile"
    ]


def test_a_slip_fails_its_own_cases_and_is_told_by_the_answers_own_frames(bare: Sandbox) -> None:
    task = task_of(MANIFEST, 1)
    right = task.load().reference[task.targets[0]].decode()
    verdict = graded(bare, task, right.replace("second**2 / 4", "second[0] / 4"))
    failed = [case for case in verdict.cases if case.outcome is Outcome.FAILED]
    assert {case.id for case in failed} == {f"test_optimal_momentum[{x}]" for x in ("0.0", "0.5", "1.7")}
    assert {case.interface for case in failed} == {"spectral.momentum.optimal_momentum"}
    exception = failed[0].exception
    assert exception is not None
    assert (exception.type, len(exception.frames)) == ("TypeError", 1)
    assert exception.frames[0].startswith("spectral/momentum.py:")


@pytest.mark.slow
def test_a_skip_of_the_canonicals_is_an_error(sandbox: Sandbox) -> None:
    text = problem(sandbox, MANIFEST, 3)
    assert text.startswith("test_points_equivalence_cuda: call: skipped (Skipped: could not import")
    assert "does not count as a pass" in text


@pytest.mark.slow
def test_a_skip_of_the_candidates_is_a_failed_case(bare: Sandbox, tmp_path: Path) -> None:
    tests = FILES["test.py"] + "    if triple(1) == 4:\n                import pytest\n                pytest.skip()\n"
    task = task_of(
        write(tmp_path, {"test.py": tests.replace("            assert triple(7)", "            assert triple(7) + 0")})
    )
    assert graded(bare, task).solved
    answer = RIGHT.replace("return x + x + x", "return x + x + x if x != 1 else 4")
    assert outcomes(graded(bare, task, answer)) == {"test_double": "passed", "test_triple": "failed"}


EXPECTED_TO_FAIL = """\
        import pytest
        from pkg.scale import double, triple

        @pytest.mark.xfail(reason="slow", strict=STRICT)
        def test_double():
            assert double(7) == 14

        def test_triple():
            assert triple(7) == 21
"""


@pytest.mark.slow
def test_an_unexpected_pass_is_a_pass_as_in_pytests_report(bare: Sandbox, tmp_path: Path) -> None:
    task = task_of(write(tmp_path, {"test.py": EXPECTED_TO_FAIL.replace("STRICT", "False")}), 1)
    verdict = graded(bare, task, RIGHT)
    assert verdict.solved
    assert [case.junit for case in verdict.cases] == ["passed", "passed"]
    verdict = graded(bare, task, RIGHT.replace("x + x\n\n", "x\n\n"))
    assert outcomes(verdict) == {"test_double": "failed", "test_triple": "passed"}
    assert {case.id: case.junit for case in verdict.cases}["test_double"] == "skipped"


def test_an_unexpected_pass_that_is_strict_is_an_error_of_the_canonicals(bare: Sandbox, tmp_path: Path) -> None:
    manifest = write(tmp_path, {"test.py": EXPECTED_TO_FAIL.replace("STRICT", "True")})
    assert "[XPASS(strict)] slow" in problem(bare, manifest)


def test_an_expected_failure_of_the_canonicals_is_an_error(bare: Sandbox, tmp_path: Path) -> None:
    tests = EXPECTED_TO_FAIL.replace("STRICT", "False").replace("== 14", "== 15")
    assert "test_double: call: expected to fail (slow)" in problem(bare, write(tmp_path, {"test.py": tests}))


@pytest.mark.slow
def test_cases_beyond_the_expected_are_neither_run_nor_counted(bare: Sandbox, tmp_path: Path) -> None:
    tests = FILES["test.py"] + "\n        def test_more():\n            assert False\n"
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": tests})))
    assert verdict.solved
    assert list(outcomes(verdict)) == ["test_double", "test_triple"]


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        (["test_double", "test_half"], "test_half: test_cases expects this, but test.py has no such test"),
        (["test_a", "test_b[1]"], "test_a, test_b[1]: test_cases expects this, but test.py has no such test"),
    ],
)
def test_an_expected_case_that_is_not_collected_is_an_error(
    bare: Sandbox, tmp_path: Path, cases: list[str], text: str
) -> None:
    assert problem(bare, write(tmp_path, test_cases=cases)) == text


def test_tests_that_cannot_be_imported_are_an_error(bare: Sandbox, tmp_path: Path) -> None:
    tests = "        import a_package_that_nobody_has\n" + FILES["test.py"]
    assert "No module named 'a_package_that_nobody_has'" in problem(bare, write(tmp_path, {"test.py": tests}))


def test_a_canonical_that_fails_is_an_error(bare: Sandbox, tmp_path: Path) -> None:
    tests = FILES["test.py"].replace("right_double(7)", "right_double(8)")
    assert problem(bare, write(tmp_path, {"test.py": tests})).startswith("test_double: call: ")


CLASSES = """\
    import unittest
    from canonical import double as right
    from pkg.scale import double, triple

    class TestDouble(unittest.TestCase):
        def test_small(self):
            with self.subTest("one"):
                self.assertEqual(double(1), right(1))

        def test_same(self):
            self.assertEqual(double(5), 10)

    class TestTriple:
        def test_small(self):
            assert triple(1) == 3

        def test_same(self):
            assert triple(5) == 15
    """
AT_ROOT = FILES["test.sh"].replace("${TARGET_DIR}/pkg/.", "${TARGET_DIR}/.").replace("pkg/test.py", "test.py")
NO_PACKAGE = FILES["canonical.py"].replace("from .base", "from pkg.base")


@pytest.mark.slow
def test_cases_of_classes_by_either_name_and_of_one_name_together(bare: Sandbox, tmp_path: Path) -> None:
    files = {"test.py": CLASSES, "test.sh": AT_ROOT, "canonical.py": NO_PACKAGE}
    task = task_of(write(tmp_path, files, test_cases=["TestTriple::test_small", "test_same"]))
    assert graded(bare, task).solved
    wrong = RIGHT.replace("x + x + x", "x + x + x if x == 1 else 0")
    assert outcomes(graded(bare, task, wrong)) == {"TestTriple::test_small": "passed", "test_same": "failed"}


LAYOUTS = {
    "in a package": FILES,
    "at the root": {
        "test.sh": AT_ROOT,
        "canonical.py": NO_PACKAGE,
        "test.py": FILES["test.py"].replace("pkg.canonical", "canonical").replace("from .canonical", "from canonical"),
    },
    "by PYTHONPATH": {
        "test.sh": FILES["test.sh"].replace("pytest pkg", 'PYTHONPATH="${TARGET_DIR}/pkg" pytest pkg'),
        "canonical.py": FILES["canonical.py"].replace("from .base", "from base"),
        "test.py": FILES["test.py"]
        .replace("pkg.canonical", "canonical")
        .replace("from .canonical", "from canonical")
        .replace("pkg.scale", "scale"),
    },
    "by cd": {
        "test.sh": FILES["test.sh"].replace("${TARGET_DIR}/.", "${TARGET_DIR}/pkg"),
        "canonical.py": FILES["canonical.py"].replace("from .base", "from base"),
        "scales/pkg/__init__.py": None,
        "test.py": """\
            from pathlib import Path
            from canonical import double as right_double
            from canonical import triple as right_triple
            from scale import double, triple

            def test_double():
                assert Path("base.py").exists()
                assert double(7) == right_double(7)

            def test_triple():
                assert triple(7) == right_triple(7)
            """,
    },
    "by importlib, mock and monkeypatch": {
        "test.py": """\
            import importlib
            import importlib.util
            import os
            import sys
            from unittest import mock
            from unittest.mock import patch
            import pkg.canonical
            import pkg.base
            from pkg import canonical as again

            sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
            beside = os.path.join(os.path.dirname(__file__), "canonical.py")
            spec = importlib.util.spec_from_file_location("pkg.theirs", beside)
            loaded = importlib.util.module_from_spec(spec)
            loaded.__package__ = "pkg"
            spec.loader.exec_module(loaded)
            scale = importlib.import_module("pkg.scale")
            right = importlib.import_module("pkg.canonical")

            def test_double():
                assert scale.double(7) == right.double(7) == loaded.double(7) == pkg.canonical.double(7)
                assert pkg.base.times(7, 2) == 14
                with patch("pkg.canonical.times", return_value=1):
                    assert again.double(7) == 1
                with mock.patch("pkg.base.times", return_value=2):
                    assert importlib.import_module("pkg.base").times(1, 1) == 2

            @patch("pkg.canonical.times", lambda x, factor: 0)
            def test_triple(capsys, monkeypatch):
                print("seen")
                assert capsys.readouterr().out == "seen\\n"
                assert right.triple(7) == 0
                monkeypatch.setattr("pkg.canonical.times", lambda x, factor: 21)
                assert scale.triple(7) == right.triple(7) == 21
            """,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_canonical_is_found_as_test_sh_lays_it_out(bare: Sandbox, tmp_path: Path, layout: str) -> None:
    task = task_of(write(tmp_path, LAYOUTS[layout]))
    reference = graded(bare, task)
    assert (reference.solved, reference.tampering) == (True, ())
    verdict = graded(bare, task, RIGHT)
    assert (verdict.solved, verdict.tampering) == (True, ())
    assert set(task.load().cases.values()) == {"pkg.scale.double", "pkg.scale.triple"}


ENDS = {
    "os._exit at import": "import os\nos._exit(0)\n",
    "SystemExit at import": "raise SystemExit(0)\n",
    "os._exit": RIGHT.replace("return x + x\n", "import os; os._exit(0)\n", 1),
    "hangs": RIGHT.replace("return x + x\n", "import time; time.sleep(99)\n", 1),
    "hangs at import": "import time\n\ntime.sleep(99)\n",
    "pytest.exit": RIGHT.replace("return x + x\n", "import pytest; pytest.exit('done', 0)\n", 1),
    "no Python": "def double(x:\n",
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.mostly_slow
def test_an_answer_that_ends_or_hangs_is_a_failed_turn(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    verdict = graded(sandbox, task_of(write(tmp_path)), ENDS[name], test_seconds=2)
    assert not verdict.solved
    assert outcomes(verdict)["test_double"] == "failed"
    assert set(outcomes(verdict)) == {"test_double", "test_triple"}


def test_what_the_repository_calls_test_is_no_secret(bare: Sandbox, tmp_path: Path) -> None:
    files = {
        "scales/test/__init__.py": "",
        "scales/test/factors.py": "TWO = 2\n",
        "scales/pkg/more/canonical.py": "THREE = 3\n",
    }
    task = task_of(write(tmp_path, files))
    answer = (
        "from test import factors\nfrom pkg.more.canonical import THREE\n\n"
        "def double(x):\n    return x * factors.TWO\n\n\ndef triple(x):\n    return x * THREE\n"
    )
    verdict = graded(bare, task, answer)
    assert (verdict.solved, verdict.tampering) == (True, ())


ATTACKS = {
    "imports all": "from canonical import *\n",
    "imports all of the package's": "from pkg.canonical import *\n",
    "imports beside itself": "from .canonical import double, triple\n",
    "imports at run time": RIGHT.replace(
        "return x + x\n", "import importlib; return importlib.import_module('pkg.' + 'canonical').double(x)\n", 1
    ),
    "reads the canonical": "exec(open('canonical.py').read())\n",
    "reads what lies beside it": "import os\nTEXT = open(os.path.join(os.path.dirname(__file__), 'canonical.py')).read()\n",
    "reads the tests": "from pathlib import Path\nTEXT = Path('pkg/test.py').read_text()\n",
    "reads what lies above": "TEXT = open('../canonical.py').read()\n",
    "imports the tests": "from pkg import test\ndouble, triple = test.right_double, test.right_triple\n",
    "walks up the stack": """\
        import sys

        def double(x):
            frame = sys._getframe()
            while frame:
                if "right_double" in frame.f_globals:
                    return frame.f_globals["right_double"](x)
                frame = frame.f_back

        def triple(x):
            return 3 * x
        """,
    "sys.modules": """\
        import sys

        def double(x):
            for name, module in list(sys.modules.items()):
                if "canonical" in name:
                    return module.double(x)
            raise LookupError

        def triple(x):
            return 3 * x
        """,
    "prints a report": """\
        import os
        print('<testsuites><testsuite errors="0" failures="0" skipped="0" tests="2"/></testsuites>', flush=True)
        os.makedirs("../pytest_report", exist_ok=True)
        open("../pytest_report/report.xml", "w").write('<testsuite errors="0" failures="0" skipped="0" tests="2"/>')
        os._exit(0)
        """,
    "patches pytest": "import pytest\npytest.skip = None\ndouble = triple = lambda x: 0\n",
}


OF_PLACES = ("imports beside itself", "reads what lies beside it", "walks up the stack", "prints a report")
"""What other walls might let through: paths, the stack of another first process, another's descriptors."""
WHERE = [
    *(("process", name) for name in ATTACKS),
    *((kind, name) for kind in ("bubblewrap", "docker") for name in OF_PLACES),
]


@pytest.mark.parametrize(("every_sandbox", "name"), WHERE, indirect=["every_sandbox"])
@pytest.mark.mostly_slow
def test_no_attack_is_solved(every_sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    verdict = graded(every_sandbox, task_of(write(tmp_path)), ATTACKS[name], test_seconds=10)
    assert not verdict.solved


SEARCHES = {
    "by pkgutil": "import pkgutil\nMODULES = pkgutil.resolve_name('warnings:sys.modules')\n",
    "by pydoc": "import pydoc\nMODULES = pydoc.locate('sys.modules')\n",
    "by its dict": "import warnings\nMODULES = warnings.__dict__['sys'].__dict__['modules']\n",
    "by a pattern": "import warnings\nmatch warnings:\n    case object(sys=object(modules=MODULES)):\n        pass\n",
}
TAKES = """\
for MODULE in list(MODULES.values()):
    FOUND = getattr(MODULE, NAME, None)
    if FOUND is not None:
        double = FOUND
def triple(x):
    return 3 * x
"""


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("sought", ["right_double", "double"])
@pytest.mark.mostly_slow
def test_modules_that_are_being_imported_do_not_show_what_is_hidden(
    bare: Sandbox, tmp_path: Path, name: str, sought: str
) -> None:
    """The tests, and a canonical whose package imports the target, are half imported when the target is."""
    files = {}
    if sought == "double":
        files = {
            "canonical.py": FILES["canonical.py"].replace("        from .base import times\n", "")
            + "\n        from .base import times\n",
            "scales/pkg/__init__.py": "from .scale import triple\n",
        }
    answer = SEARCHES[name] + TAKES.replace("NAME", repr(sought))
    verdict = graded(bare, task_of(write(tmp_path, files)), answer)
    assert outcomes(verdict) == {"test_double": "failed", "test_triple": "failed"}
    assert verdict.cases[0].exception is not None
    assert "double" in verdict.cases[0].exception.message


LEADS = {
    "the finder of pytest's": """\
        next(each for each in pkgutil.iter_importers() if hasattr(each, "session")).session.items[0].module
        """,
    "what pytest compares by": """\
        config = pkgutil.resolve_name("_py" + "test.assertion.util:_config")
        next(each.hidden for each in config.pluginmanager.get_plugins() if hasattr(each, "hidden"))
        """,
    "what pytest debugs by": """\
        manager = pkgutil.resolve_name("_py" + "test.debugging:pytestPDB._pluginmanager")
        next(each.hidden for each in manager.get_plugins() if hasattr(each, "hidden"))
        """,
    "what pytest marks by": """\
        config = pkgutil.resolve_name("_py" + "test.mark:MARK_GEN._config")
        next(each.hidden for each in config.pluginmanager.get_plugins() if hasattr(each, "hidden"))
        """,
    "the finder of the judge's": """\
        next(each._monitor for each in pkgutil.iter_importers() if hasattr(each, "_monitor")).end()
        """,
    "whatever a finder holds": """\
        held = [getattr(each, name) for each in pkgutil.iter_importers() for name in dir(each) if name[:2] != "__"]
        next(each for each in held if type(each).__module__.startswith("_recode"))
        """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEADS)
def test_nothing_that_anybody_finds_leads_to_the_tests(bare: Sandbox, tmp_path: Path, name: str) -> None:
    """Without what the candidate is watched for: it is nothing but attributes. The tests tell, as they may see what they like."""
    tests = f"""\
        import pkgutil
        import pytest
        from pkg.scale import double, triple

        def found():
            try:
                {dedent(LEADS[name]).replace(chr(10), chr(10) + 16 * " ").strip()}
            except (AttributeError, StopIteration):
                return None
            return "found"

        def test_double():
            assert found() is None and double(7) == 14

        @pytest.mark.slow
        @pytest.mark.parametrize("x", [1])
        def test_triple(x):
            assert triple(7) == 21 * x
        """
    rows = {"test_cases": ["test_double", "test_triple[1]"]}
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": tests}, **rows)), RIGHT)
    assert (verdict.solved, verdict.tampering) == (True, ())


def test_dataclasses_of_the_tests_are_read_as_ever(bare: Sandbox, tmp_path: Path) -> None:
    tests = """\
        from __future__ import annotations
        import dataclasses
        import typing as t
        from typing import ClassVar

        @dataclasses.dataclass
        class Input:
            x: int
            top: ClassVar[int] = 9
            low: t.ClassVar[int] = 0
            more: dataclasses.InitVar[int] = 1

            def __post_init__(self, more: int) -> None:
                self.x += more

        assert [each.name for each in dataclasses.fields(Input)] == ["x"]
"""
    body = FILES["test.py"].replace("double(7)", "double(Input(6).x)")
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": tests + body})), RIGHT)
    assert (verdict.solved, verdict.tampering) == (True, ())


def test_an_exception_without_a_text_fails_its_own_case_alone(bare: Sandbox, tmp_path: Path) -> None:
    answer = RIGHT.replace("return x + x\n", "raise Silent\n", 1)
    answer += "\n\nclass Silent(Exception):\n    def __str__(self):\n        raise RuntimeError\n"
    verdict = graded(bare, task_of(write(tmp_path)), answer)
    assert outcomes(verdict) == {"test_double": "failed", "test_triple": "passed"}
    assert verdict.cases[0].exception is not None
    assert verdict.cases[0].exception.type == "Silent"


STUMBLES = {
    "raises": "if triple(7) != right_triple(7): raise ValueError('SECRET 21')",
    "raises a type of the interpreter's": "if triple(7) != right_triple(7): raise TypeError('SECRET 21')",
    "pytest.fail": "import pytest\n            if triple(7) != right_triple(7): pytest.fail('SECRET 21')",
    "pytest.raises": "import pytest\n            if triple(7) != 21:\n                with pytest.raises(KeyError): triple(7)",
    "looks up": "{'SECRET': 21, triple(7): 0}['SECRET' if triple(7) == 21 else 'SECRET 22']",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUMBLES)
def test_what_the_tests_raise_is_no_exception_of_the_answers(bare: Sandbox, tmp_path: Path, name: str) -> None:
    tests = FILES["test.py"].replace("assert triple(7) == right_triple(7)", STUMBLES[name])
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": tests})), RIGHT.replace("x + x + x", "0"))
    failed = verdict.cases[1]
    kind = "no-exception" if name == "pytest.raises" else "assertion"
    assert (failed.outcome, failed.kind, failed.exception) == (Outcome.FAILED, kind, None)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("def double(x):\n    return x + x\n", "cannot import name 'triple' from 'pkg.scale'"),
        (RIGHT.replace("triple(x)", "triple(x, y)"), "missing 1 required positional argument: 'y'"),
    ],
)
def test_what_is_missing_is_told_by_the_interpreters_words(
    bare: Sandbox, tmp_path: Path, answer: str, text: str
) -> None:
    failed = graded(bare, task_of(write(tmp_path)), answer).cases[1]
    assert failed.exception is not None
    assert text in failed.exception.message


LONG = f"'{'x' * 60_000}'"
LONG_NAME = "f" * 60_000


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT.replace("return x + x\n", f"{LONG}; return double(x - 1) if x > -30 else 1 / 0\n", 1),
        RIGHT.replace("def double", f"def {LONG_NAME}", 1).replace(
            "return x + x\n", f"return {LONG_NAME}(x - 1) if x > -30 else 1 / 0\n", 1
        )
        + f"\n\ndouble = {LONG_NAME}\n",
    ],
    ids=["lines", "names"],
)  # fmt: skip
def test_what_is_long_is_told_in_short_and_fails_its_own_case_alone(bare: Sandbox, tmp_path: Path, answer: str) -> None:
    verdict = graded(bare, task_of(write(tmp_path)), answer)
    assert (outcomes(verdict), verdict.tampering) == ({"test_double": "failed", "test_triple": "passed"}, ())
    exception = verdict.cases[0].exception
    assert exception is not None
    assert all(len(frame) < 500 for frame in exception.frames)


@pytest.mark.slow
def test_warnings_that_an_answer_makes_errors_are_none_of_the_tests(bare: Sandbox, tmp_path: Path) -> None:
    """As with pytest's own plugin: neither what an import sets nor what one test sets reaches the next test."""
    test = FILES["test.py"].replace(
        "            assert", "            import warnings\n            warnings.warn('old')\n            assert"
    )
    answer = "import warnings\n\nwarnings.simplefilter('error')\n\n\n" + RIGHT
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": test})), answer)
    assert (verdict.solved, verdict.tampering) == (True, ()), verdict.cases
    later = answer.replace("    return x + x\n", "    warnings.simplefilter('error')\n    return x + x\n", 1)
    verdict = graded(bare, task_of(write(tmp_path / "later", {"test.py": test})), later)
    assert (verdict.solved, verdict.tampering) == (True, ()), verdict.cases

"""A file that has the name of a manifest by chance: the format says so, and pytest collects its directory as any other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]

CONFTEST = """\
from pathlib import Path

from pytest_recode.formats import Format
from pytest_recode.task import Parts, Task


def load(manifest):
    parts = Parts(
        instruction="double", paper=None, repo={}, reference={"a.py": b"def f(x):\\n    return 2 * x\\n"},
        tests={"test_a.py": b"def test_f(candidate):\\n    assert candidate.a.f(2) == 4\\n"},
    )
    return [
        Task(id="t", title="t", format="notes", manifest=manifest, targets=("a.py",), interfaces=("a.f",), load=lambda: parts)
    ]


def claims(manifest):
    return "a task" in manifest.read_text()


FORMAT = Format(name="notes", manifest="notes.txt", load=load, claims=claims, single=True)


def pytest_recode_formats():
    return {"notes.txt": FORMAT}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    for name, text in (("mine", "a task\n"), ("other", "notes of somebody\n")):
        (pytester.mkdir(name) / "notes.txt").write_text(text)
        (pytester.path / name / f"test_{name}.py").write_text(f"def test_{name}():\n    pass\n")
    return pytester


@pytest.mark.parametrize("where", [(), ("other",), ("mine", "other")])
@pytest.mark.mostly_slow
def test_only_what_a_format_claims_is_its_task(project: pytest.Pytester, where: tuple[str, ...]) -> None:
    result = project.runpytest(*where, "--collect-only", "-q", "-p", "no:cacheprovider")
    found = [line for line in result.outlines if "::" in line]
    tasks = [] if where == ("other",) else ["mine/notes.txt::episode[recode-escalate]"]
    assert sorted(found) == [*tasks, "other/test_other.py::test_other"]

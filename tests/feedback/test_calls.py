"""Feedback names functions that the authors call only if the agent can know their names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.feedback.derived import derive
from pytest_recode.task import Files
from pytest_recode.verdict import Verdict
from tests.feedback.scene import case, parts, task
from tests.feedback.test_bundled_tasks import TASKS, failed, read

REFERENCE = """\
import math

import numpy as np
from scipy.special import logsumexp as summed
from hidden import secret
from tools import centre as centred


def mean(values, weights=None):
    values = _prepared(values, 2)
    return deviation(values) + secret(values)


def deviation(values, *, ddof=1):
    return np.median(values)


def _prepared(values, depth):
    np.add.at(values, 0, 1.0)
    return _inner(centred(values), depth)


def _inner(values, depth):
    return _prepared(values, depth - 1) if depth else np.linalg.norm(summed(values))


def slopes(values):
    return math.gcd(*values)
"""


def called(
    authors: str = REFERENCE,
    theirs: str = "def mean(values, weights=None):\n    return 0.0\n",
    instruction: str = "",
    stub: str = "",
    kinds: tuple[str, ...] = ("mismatch",),
) -> set[str]:
    """The functions that feedback says the authors also call."""
    its = parts()
    its = replace(
        its,
        instruction=its.instruction + instruction,
        repo={**its.repo, "stats.py": its.repo["stats.py"] + stub.encode()},
        reference={"stats.py": authors.encode(), "hidden.py": b"def secret(values):\n    return math.fsum(values)\n"},
    )
    (found,) = derive(
        task(), its, {"stats.py": theirs.encode()}, Verdict(cases=tuple(case(kind=kind) for kind in kinds), seed=1)
    )
    sentences = re.findall(r"(?:The authors also call|Use what the repository has:) .*?\.(?= |$)", found.suggestion)
    return {name for each in sentences for name in re.findall("`(.*?)`", each)}


def test_no_call_is_named_where_only_exceptions_are_missing() -> None:
    assert called(kinds=("no-exception", "other-exception")) == set()
    assert called(kinds=("no-exception", "mismatch")) == called()


def test_calls_in_helpers_that_only_the_authors_have_are_the_interfaces() -> None:
    """Their names are not named, nor what other interfaces and other helpers call."""
    assert called() == {"add.at", "centre", "deviation", "linalg.norm", "logsumexp"}


def test_calls_of_the_candidates_helpers_count_by_their_names_at_home() -> None:
    theirs = """\
from numpy import add
from numpy.linalg import norm as length
from tools import centre as middle


def mean(values, weights=None):
    return _helped(values)


def _helped(values):
    add.at(values, 0, 1.0)
    return length(middle(values))
"""
    assert called(theirs=theirs) == {"deviation", "logsumexp"}


MENTIONED = {
    "in prose": ("Take the slopes of all pairs, then the median.", "", False),
    "in code": ("Call `slopes(values)`.", "", True),
    "in a block": ("```python\nslopes = ...\n```", "", True),
    "as a call": ("Write slopes(values) too.", "", True),
    "in the repository's version of the file": ("", "\n\ndef slopes(values): ...\n", True),
    "in a comment of the repository": ("", "\n# slopes\n", False),
}


@pytest.mark.parametrize(("instruction", "stub", "known"), MENTIONED.values(), ids=MENTIONED)
def test_a_helper_is_named_if_instruction_or_repository_name_it(instruction: str, stub: str, known: bool) -> None:
    authors = REFERENCE.replace("_prepared(values, 2)", "slopes(values)")
    assert called(authors, instruction=instruction, stub=stub) == {"deviation", "slopes" if known else "gcd"}


ROOTS = ("math.sqrt(values)", "np.sqrt(values)", "values ** 0.5", "values ** (1 / 2)")


@pytest.mark.parametrize("theirs", ROOTS)
@pytest.mark.parametrize("authors", ROOTS)
def test_both_ways_to_write_a_square_root_are_the_same(authors: str, theirs: str) -> None:
    one, other = (
        f"import math\nimport numpy as np\n\ndef mean(values, weights=None):\n    {first}\n    return {last}\n"
        for first, last in ((f"root = {authors}", "root + 1"), ("weights = 1", f"{theirs} + weights"))
    )
    (found,) = derive(
        task(),
        replace(parts(), reference={"stats.py": one.encode()}),
        {"stats.py": other.encode()},
        Verdict(cases=(case(),), seed=1),
    )
    assert not re.search("sqrt|power|square root", found.suggestion)
    assert called(one, other) == set()


@pytest.mark.mostly_slow(one_in=8)
@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
def test_no_helper_of_a_bundled_tasks_reference_is_named(manifest: Path) -> None:
    bundled, its = read(manifest)
    interfaces = {name.rpartition(".")[2] for name in bundled.interfaces}
    empty = "".join(f"def {name}(*values): return 0\n" for name in sorted(interfaces)).encode()
    played = failed(bundled, its, dict.fromkeys(bundled.targets, empty))
    suggestions = [item.suggestion for item in derive(bundled, its, played.targets, played.verdict)]
    sentences = (each for text in suggestions for each in re.findall(r"authors also call (.*?)\.(?= |$)", text))
    names = {name for each in sentences for name in re.findall("`(.*?)`", each)}
    known = defined(its.repo) | interfaces
    assert names.isdisjoint(defined(its.reference) - known)
    assert names


def defined(files: Files) -> set[str]:
    """The names of all functions and classes in these files."""
    texts = (data.decode(errors="replace") for path, data in files.items() if path.endswith(".py"))
    return {name for text in texts for name in re.findall(r"(?m)^\s*(?:def|class) (\w+)", text)}

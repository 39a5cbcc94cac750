"""What feedback says about arithmetic is true of the candidate's program, however it is written; otherwise it says nothing."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.levels import sentence
from pytest_recode.feedback.operations import differing
from pytest_recode.formats.directory import FORMAT
from pytest_recode.program import source
from pytest_recode.program.fixes import Versions
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.task import Files, Parts, Task
from pytest_recode.validation.mutants import mutants
from pytest_recode.verdict import Verdict
from tests.feedback.scene import case, parts, task

TASKS = sorted((Path(__file__).parents[2] / "tasks").glob("*/task.yaml"))
OF_A_PLACE = re.compile(
    r"(?:The code of lines|Line|The place after line) (?P<line>\d+)(?: to (?P<last>\d+))? .*|The beginning .*"
)

GREEDY = """\
import numpy as np

THRESHOLD = 1e-6


def greedy(x, kernel, count):
    unexplained = np.array(kernel.diag(x), dtype=np.float64)
    enough = THRESHOLD * unexplained.max()
    columns = np.zeros((len(x), 0))
    chosen: list[int] = []
    for _ in range(count):
        pivot = int(np.argmax(unexplained))
        if unexplained[pivot] <= enough:
            break
        residual = kernel(x, x[pivot : pivot + 1])[:, 0] - columns @ columns[pivot]
        columns = np.column_stack([columns, residual / np.sqrt(unexplained[pivot])])
        unexplained = unexplained - columns[:, -1] ** 2
        chosen.append(pivot)
        unexplained[chosen] = -np.inf
    return np.array(chosen, dtype=np.int64)
"""

WRITTEN_OTHERWISE = """\
import numpy as np

THRESHOLD = 1e-6


def greedy(x, kernel, count):
    residual = np.array(kernel.diag(x), dtype=float)
    largest = residual.max()
    used = np.zeros(len(x), dtype=bool)
    columns = np.zeros((len(x), 0))
    chosen = []
    for _ in range(count):
        i = int(np.argmax(np.where(used, 0.0, residual)))
        if residual[i] <= THRESHOLD * largest:
            break
        column = (kernel(x, x[i : i + 1])[:, 0] - columns @ columns[i]) / np.sqrt(residual[i])
        columns = np.hstack([columns, column[:, None]])
        residual = residual - column**2
        used[i] = True
        chosen.append(i)
    return np.array(chosen)
"""


def said(reference: str, candidate: str, kind: str = "mismatch", name: str = "f") -> list[str]:
    """The sentences on arithmetic about the function `name`, whose hidden tests fail."""
    return of_places(suggestion(reference, candidate, kind, name))


def suggestion(reference: str, candidate: str, kind: str, name: str = "f") -> str:
    authors = replace(parts(), reference={"stats.py": reference.encode()})
    interface = f"stats.{name}"
    failing = Verdict(cases=(case(interface, kind),), seed=1)
    (item,) = derive(task((interface,)), authors, {"stats.py": candidate.encode()}, failing)
    return item.suggestion


def of_places(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=\.) (?=[A-Z`])", text) if OF_A_PLACE.fullmatch(each)]


@pytest.mark.parametrize("kind", ["dtype", "protocol", "mismatch", "length", "no-exception"])
def test_nothing_is_said_about_another_way_to_write_the_same(kind: str) -> None:
    """The missing dtype is the only fault."""
    assert said(GREEDY, WRITTEN_OTHERWISE, kind, name="greedy") == []


def test_arithmetic_is_no_subject_if_only_types_are_wrong() -> None:
    less = GREEDY.replace(", dtype=np.int64", "").replace(" ** 2", "")
    assert said(GREEDY, less, "mismatch", name="greedy") == ["Line 17 lacks 1 x power that the authors have there."]
    for kind in ("dtype", "protocol"):
        assert said(GREEDY, less, kind, name="greedy") == []


def test_of_functions_only_those_that_convert_are_named_if_only_types_are_wrong() -> None:
    authors, theirs = (
        f"import numpy as np\n\ndef f(x):\n    return {value}\n" for value in ("np.asarray(np.cumsum(x))", "x")
    )
    also = "The authors also call `asarray`, `cumsum`."
    assert also in suggestion(authors, theirs, "mismatch")
    assert also.replace(", `cumsum`", "") in suggestion(authors, theirs, "dtype")


SAME = {
    "an index from the end": ("y = x[:, -1] ** 2\n    return y", "y = x[:, n] ** 2\n    return y"),
    "a negative number": ("return g(x, -1) * 2.0", "return g(x, 1) * 2.0"),
    "a factor with a sign": ("return -0.5 * x", "return -(0.5 * x)"),
    "a comparison with a negative number": ("return x > -1", "return x >= 0"),
    "minus infinity": ("x[n] = -np.inf\n    return x", "x[n] = float('-inf')\n    return x"),
    "minus infinity in a statement that is missing": ("x[n] = -np.inf\n    return x", "return x"),
    "a statement that is missing, beside one that differs": ("x[n] = -y\n    return g(x, 1)", "return g(x)"),
    "an operation before the loop": (
        "m = x * y\n    for i in range(n):\n        if i < m:\n            return i",
        "for i in range(n):\n        if i < x * y:\n            return i",
    ),
    "an operation in a helper": ("return g(x) * y", "return h(x, y)\n\ndef h(x, y):\n    return g(x) * y"),
    "an operation in a helper of the same name": (
        "return h(x) / n\n\ndef h(x):\n    return x",
        "return h(x, n)\n\ndef h(x, n):\n    return x / n",
    ),
    "two statements for one": ("y = g(x) * n\n    return y", "y = g(x)\n    y = y * n\n    return y"),
    "one operand before the other": ("return 0 < x", "return x > 0"),
    "two names, one before the other": ("return n < x", "return x > n"),
    "a negated comparison": ("return not x < n", "return x >= n"),
    "the other branch first": (
        "if x > 0:\n        y = 1\n    else:\n        y = n\n    return y",
        "if x <= 0:\n        y = n\n    else:\n        y = 1\n    return y",
    ),
    "a product for a square": ("return x ** 2", "return x * x"),
    "a product for a quotient": ("return x / 2", "return x * 0.5"),
    "a function for an operation": ("return np.sqrt(x)", "return x ** 0.5"),
    "an operation for a function": ("x **= 0.5\n    return x", "return math.sqrt(x)"),
    "the root of a product": ("return np.sqrt(x * n)", "return np.sqrt(x) * np.sqrt(n)"),
    "a root in another place": ("y = x ** 0.5\n    return y * n", "y = x\n    return n * np.sqrt(y)"),
    "a comparison of squares": ("return np.sqrt(x) < n", "return x < n * n"),
    "the text of an exception": (
        'if n:\n        raise ValueError(f"from 0 to {n - 1}")\n    return x',
        'if n:\n        raise ValueError("n: " + str(n))\n    return x',
    ),
    "the text of an assertion": ("assert n, 'more than %d' % (n + 1)\n    return x", "assert n\n    return x"),
    "a text": ("return '%s' % n", "return '-' * n"),
    "a list": ("return [0.0] * n", "return [0.0] + n"),
    "an annotation": ("y: int | None = g(x)\n    return y", "y = g(x)\n    return y"),
    "a comparison for a conversion": ("return np.asarray(x, dtype=bool)", "return np.asarray(x) != 0"),
    "a weight for a repetition": (
        "for i in x:\n        g(i)\n        y += n\n    return y",
        "for i, k in counted(x):\n        g(i)\n        y += k * n\n    return y",
    ),
    "an assignment with an operation": ("x += n\n    return x", "x = x + n\n    return x"),
}


@pytest.mark.parametrize("both", SAME.values(), ids=SAME)
def test_what_may_be_the_same_is_no_difference(both: tuple[str, str]) -> None:
    one, other = (f"import numpy as np\n\ndef f(x, y, n):\n    {body}\n" for body in both)
    assert said(one, other) == []
    assert said(other, one) == []


DIFFERENT = {
    "another operation": ("return x * n", "return x / n", "Line 2 has 1 x division where the authors have 1 x multiplication."),
    "an operation less": ("y = g(x)\n    return y / n", "y = g(x)\n    return y", "Line 3 lacks 1 x division that the authors have there."),
    "with its number": ("return g(x) / (n - 1)", "return g(x) / n", "Line 2 lacks 1 x subtraction that the authors have there."),
    "with its function": ("return x - g(x)", "return x", "Line 2 lacks 1 x subtraction that the authors have there."),
    "an operation more": ("return x", "return x * 2.0", "Line 2 has 1 x multiplication that the authors do not have there."),
    "a sign": ("return np.exp(-x)", "return np.exp(x)", "Line 2 lacks 1 x change of sign that the authors have there."),
    "strictness": ("return x >= n", "return x > n", "Line 2 has 1 x comparison by > where the authors have 1 x comparison by >=."),
    "direction": ("return x < 0", "return x > 0", "Line 2 has 1 x comparison by > where the authors have 1 x comparison by <."),
    "a statement less": ("y = g(x)\n    y /= n\n    return y", "y = g(x)\n    return y", "The place after line 2 lacks 1 x division that the authors have there."),
    "a statement more": ("y = g(x)\n    return y", "y = g(x)\n    y /= n\n    return y", "Line 3 has 1 x division that the authors do not have there."),
    "a root that is missing": ("return np.sqrt(x) + n", "return x + n", "Line 2 lacks 1 x square root that the authors have there."),
    "a root too many": ("return x + n", "return x ** 0.5 + n", "Line 2 has 1 x square root that the authors do not have there."),
    "beside a root in another form": ("return np.sqrt(x) + n", "return x ** 0.5 - n", "Line 2 has 1 x subtraction where the authors have 1 x addition."),
    "a type besides": ("return float(x * n)", "return x + n", "Line 2 has 1 x addition where the authors have 1 x multiplication."),
}  # fmt: skip


@pytest.mark.parametrize(("authors", "theirs", "sentence"), DIFFERENT.values(), ids=DIFFERENT)
def test_an_operation_that_differs_is_named_with_its_line(authors: str, theirs: str, sentence: str) -> None:
    one, other = (f"def f(x, n):\n    {body}\n" for body in (authors, theirs))
    assert said(one, other) == [sentence]


def of_task(manifest: Path) -> tuple[Task, Parts]:
    (found,) = FORMAT.load(manifest)
    return found, found.load()


def phrases(found: Task, known: Parts, files: Files, interface: str) -> list[str]:
    versions = Versions.of(known, files, found.targets)
    file = file_of(interface, found.targets)
    assert file is not None
    path = path_within(interface, file)
    theirs, authors = (
        (source.definition(program.module(file).parsed, path), program.used(file, path))
        for program in (versions.theirs, versions.authors)
    )
    if theirs[0] is None or authors[0] is None:
        return []
    return differing(theirs[0], authors[0], (theirs[1], authors[1]))


@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
def test_nothing_is_said_about_other_right_answers(manifest: Path) -> None:
    """They were written for each bundled task, otherwise than the reference, and solve it."""
    found, known = of_task(manifest)
    answers = sorted((manifest.parent / "proofs/right").iterdir())
    assert answers
    for answer in answers:
        code = {path: (answer / path).read_bytes() for path in found.targets}
        for interface in found.interfaces:
            assert phrases(found, known, code, interface) == [], (answer.name, interface)


@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
@pytest.mark.mostly_slow(one_in=8)
def test_of_one_mistake_nothing_else_is_said(manifest: Path) -> None:
    """Each mutant of the reference has one mistake, and the phrase is about its line."""
    found, known = of_task(manifest)
    plain = {
        path: ast.unparse(ast.parse(data)).encode() for path, data in known.reference.items() if path.endswith(".py")
    }
    known = replace(known, reference={**known.reference, **plain})
    count = 0
    for mutant in mutants(known.reference, found.interfaces)[::4]:  # all of them take a minute
        if not mutant.interface or file_of(mutant.interface, found.targets) != mutant.path:
            continue
        named = phrases(found, known, {**known.reference, mutant.path: mutant.source}, mutant.interface)
        assert len(named) <= 1, mutant.diff()
        for phrase in named:
            place = OF_A_PLACE.fullmatch(sentence(phrase))
            assert place is not None
            lines = range(int(place["line"] or 0), int(place["last"] or place["line"] or 0) + 2)
            assert changed(known.reference[mutant.path], mutant.source) in lines, (mutant.diff(), phrase)
            count += 1
    assert count


def changed(one: bytes, other: bytes) -> int:
    """The number of the first line that differs."""
    both = zip(one.splitlines(), other.splitlines(), strict=False)
    return next(number for number, (left, right) in enumerate(both, 1) if left != right)

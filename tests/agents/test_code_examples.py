"""Code beside a submission that can be no part of the targets, and code that may be one."""

from __future__ import annotations

import pytest

from pytest_recode.agents.actions import Code
from pytest_recode.agents.outside_code import Known, lines_of, lost_code, outside_code

TARGET = """\
import numpy as np


def learn(counts, operations):
    pairs = count(counts)
    return min(pairs, key=lambda pair: (-pairs[pair], pair))


def value(problem, solution):
    return float(problem.a @ solution.f + problem.b @ solution.g)
"""
KNOWN = Known(
    lines=lines_of([TARGET]),
    sources=(TARGET,),
    targets=("bpe.py",),
    interfaces=("bpe.learn", "bpe.segment", "bpe.Model"),
)


@pytest.mark.parametrize(
    "text",
    [
        "from bpe import learn\n\nmerges = learn({'low': 5}, 4)\nprint(merges)",
        "import bpe\nfor word in ('a', 'b'):\n    print(bpe.segment(word, []))",
        "print(learn({'low': 5}, 4))  # [('l', 'o')]",
        "assert learn({}, 1) == []",
        "learn({'low': 5}, 4)",
        "model = Model({'low': 5}, 4)\nmodel.encode('')  # array([])\nmodel.decode([-1])",
        "def learn(counts, operations, ...):\n    ...\n    return min(..., key=len)",
        "if operations < 0:  # ...\n    raise ValueError(...)",
        ">>> learn({'aaa': 2}, 1)\n[('a', 'a')]",
        "best = min(counts, key=lambda p: (-counts[p], p))",
        "value = a @ f + b @ g",
        "return float(p.a @ s.f + p.b @ s.g)",
        "def learn(counts, operations):\n    pairs = count(counts)\n    ...",
        "    pairs = count(counts)  # once",
    ],
)
@pytest.mark.parametrize("language", ["python", ""])
def test_an_example_or_a_paraphrase_is_no_loss(text: str, language: str) -> None:
    assert lost_code(outside_code(f"It is\n```{language}\n{text}\n```\nDone."), KNOWN) == ""


@pytest.mark.parametrize(
    "text",
    [
        "best = max(counts, key=lambda p: (-counts[p], p))",
        "best = min(counts, key=lambda p: (counts[p], p))",
        "best = min(counts, key=lambda p: (-counts[p], q))",
        "value = a @ f - b @ g",
        "value = a @ f + a @ g",
        "counts = dict(counts)",
        "merges = learn(counts, 4)",
        "merges = learn(counts, 4)\nmerges.sort()",
        "model = Model(counts)\nother.sort()",
        "model = Model(counts)",
        "x = counts[..., None]",
        "print('...')\nx = 1",
        "def learn(counts, operations):\n    return []",
        "from bpe import learn\n\n\ndef learn(counts, operations):\n    return learn(counts)",
        "pairs.sort()",
        "from collections import Counter\npairs = Counter(counts)",
        "def learn(",
    ],
)
def test_code_that_may_be_part_of_a_target_would_be_lost(text: str) -> None:
    assert lost_code(outside_code(f"It is\n```python\n{text}\n```\nDone."), KNOWN)


def test_with_several_targets_an_import_of_one_may_belong_to_another() -> None:
    known = Known(targets=("bpe.py", "pkg/__init__.py"), interfaces=("bpe.learn",))
    assert lost_code([Code(text="from bpe import learn")], known)
    assert not lost_code([Code(text="from bpe import learn\nprint(learn({}, 1))")], known)


@pytest.mark.parametrize(
    ("code", "other", "lost"),
    [
        ("from bpe import learn", "import bpe\nx = bpe.learn({}, 1)\n", False),
        ("from bpe import learn", "from bpe import learn as learn\nx = learn({}, 1)\n", False),
        ("import bpe", "y = 1\n", False),
        ("from bpe import learn", "x = learn({}, 1)\n", True),  # it is what this file lacks
        ("import bpe", "def f():\n    return bpe.learn\n", True),
        ("from bpe import *", "y = 1\n", True),
        ("from bpe import learn", "x = (\n", True),
        ("from bpe import learn\nlearned = learn({}, 1)", "y = 1\n", True),
        ("from bpe import learn\nfrom collections import Counter", "y = 1\n", True),
    ],
)
def test_an_import_of_a_target_that_no_other_target_lacks_is_no_loss(code: str, other: str, lost: bool) -> None:
    known = Known(targets=("bpe.py", "use.py"), interfaces=("bpe.learn",), sources=(TARGET, other))
    assert bool(lost_code([Code(text=code)], known)) is lost


def test_a_file_that_is_named_is_no_example() -> None:
    assert lost_code(outside_code("```python bpe.py\nprint(learn({}, 1))\n```"), KNOWN)


@pytest.mark.parametrize("piece", ["x + y + ", "-(", "f(", "x[y] * ", "(x, "])
def test_expressions_of_any_length_are_compared_in_time(piece: str) -> None:
    for many in (50, 20_000):
        source = f"z = {piece * many}1{')' * (many * piece.count('('))}"
        known = Known(targets=("bpe.py",), sources=(source, source.replace("\n", " ")))
        assert isinstance(lost_code([Code(text=source)], known), str)


@pytest.mark.parametrize("before", ["", "- ", "> ", "1. "])
def test_a_deeper_line_of_backticks_does_not_end_a_fence(before: str) -> None:
    inner = " " * len(before) if before != "> " else before
    lines = ['text = """', "    ```", "count = 3 * offset", "    ```", '"""']
    text = "\n".join([f"{before}```python", *(f"{inner}{line}" for line in lines), f"{inner}```"])
    [code] = outside_code(f"So:\n\n{text}\n")
    assert "count = 3 * offset" in code.text

"""Problems in the layout of SciCode's `problems_dev.jsonl`, for tests: two with functions, one with a class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def step(number: str, header: str, code: str, *tests: str, background: str = "") -> dict[str, Any]:
    return {
        "step_number": number,
        "step_description_prompt": f"What step {number} computes.",
        "step_background": background,
        "ground_truth_code": code,
        "function_header": header,
        "test_cases": list(tests),
        "return_line": "    return result",
    }


def problem(number: str, name: str, *steps: dict[str, Any], dependencies: str = "import numpy as np") -> dict[str, Any]:
    return {
        "problem_name": name,
        "problem_id": number,
        "problem_description_main": f"Solve {name}.",
        "problem_background_main": "",
        "problem_io": '"""\nInput: numbers\n"""',
        "required_dependencies": dependencies,
        "sub_steps": list(steps),
        "general_solution": "",
        "general_tests": [],
    }


SHIFT = '''def shift(x, by=1.0):
    """Shift x in place, and return it with what it was shifted by."""'''
SHIFT_CODE = f"""{SHIFT}
    x += by
    return x, by
"""
TOTAL = '''def total(f, x):
    """The sum of f(x)[0]."""'''
TOTAL_CODE = f"""{TOTAL}
    return np.sum(f(x)[0])
"""
WALK = '''def walk(start, n):
    """A random walk of n normal steps."""'''
WALK_CODE = f"""{WALK}
    return [start, *(start + np.cumsum(np.random.normal(size=n)))]
"""
TALLY = '''class Tally:
    """Adds up."""'''
TALLY_CODE = f"""{TALLY}
    def __init__(self):
        self.sum = 0

    def add(self, x):
        self.sum += x
"""
OFFSET = problem(
    "3",
    "Offset_sum",
    step(
        "3.1",
        SHIFT,
        SHIFT_CODE,
        "x = np.array([1.0, 2.0])\nassert np.allclose(shift(x)[0], target[0]) and np.allclose(shift(x)[1], target[1])",
        "y = [0.5]\nfrom scicode.compare.cmp import cmp_tuple_or_list\nassert cmp_tuple_or_list(shift(np.array(y), by=2.0), target)",
        # like one of the benchmark's: `y` is that of the test before
        "x = np.array(y)\nshift(x)\nassert (x[0] > 1) == target",
        background="What is shifted stays shifted.",
    ),
    step(
        "3.2",
        TOTAL,
        TOTAL_CODE,
        "def test_case_1():\n    x = np.ones(3)\n    assert np.isclose(total(shift, x), 6.0), 'no sum'\n    assert x[0] == 2.0\ntest_case_1()",
        "x = {'a': np.ones(2)}\nassert np.allclose(total(lambda x: (x, 0), **{'x': x['a']}), target)",
    ),
)
WALKS = problem(
    "12",
    "walks",
    step(
        "12.1",
        WALK,
        WALK_CODE,
        "np.random.seed(7)\nassert np.allclose(walk(0.0, 4), target)",
        "noise = np.random.random()\nassert np.allclose(walk(noise, 2), target)",
    ),
)
TALLIES = problem(
    "20",
    "tally",
    step(
        "20.1",
        TALLY,
        TALLY_CODE,
        "t = Tally()\nt.add(2)\nt.add(3)\nassert t.sum == target",
        "assert Tally().sum == target",
    ),
)


def write(directory: Path, *rows: dict[str, Any]) -> Path:
    path = directory / "problems_dev.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows or (OFFSET, WALKS, TALLIES)))
    return path

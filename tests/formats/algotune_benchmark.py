"""A benchmark in the layout of AlgoTune, of two tasks, whose references wait so that no machine's load decides a test."""

from __future__ import annotations

import json
from pathlib import Path

SECONDS = 0.03
"""What a reference waits."""

PREFIXES = f"""\
import time
import random

from AlgoTuneTasks.base import Task, register_task


@register_task("prefix_sums")
class PrefixSums(Task):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def generate_problem(self, n, random_seed=1):
        random.seed(random_seed)
        return {{"values": [random.randrange(1000) for _ in range(n)]}}

    def solve(self, problem):
        time.sleep({SECONDS})
        sums, total = [], 0
        for value in problem["values"]:
            total += value
            sums.append(total)
        return {{"sums": sums}}

    def is_solution(self, problem, solution):
        sums = solution["sums"]
        return len(sums) == len(problem["values"]) and all(
            after - before == value for before, after, value in zip([0, *sums], sums, problem["values"])
        )
"""
BY_LIBRARY = """\
import itertools
from numpy import cumsum


class Solver:
    def solve(self, problem):
        return {"sums": list(itertools.accumulate(problem["values"]))}
"""
NEEDS_MORE = "import no_such_library\n" + BY_LIBRARY


def benchmark(root: Path) -> Path:
    """Write it below `root`, and return the directory with the tasks."""
    for name, source in (("prefix_sums", PREFIXES), ("suffix_sums", PREFIXES.replace("prefix", "suffix"))):
        directory = root / "AlgoTuneTasks" / name
        directory.mkdir(parents=True)
        (directory / f"{name}.py").write_text(source)
        (directory / "description.txt").write_text("Return all sums of the first values, as a list of integers.\n")
    published = {
        "o4-mini": {"final_speedup": "1.75000"},
        "gpt-5": {"final_speedup": "3.00000"},
        "glm-4.5": {"final_speedup": "N/A"},
    }
    files = {
        "reports/generation.json": json.dumps({"prefix_sums": {"n": 50}, "suffix_sums": {"n": 60}}),
        "reports/agent_summary.json": json.dumps({"prefix_sums": published}),
        "results/GPT-5/prefix_sums/solver.py": NEEDS_MORE,
        "results/o4-mini/prefix_sums/solver.py": BY_LIBRARY,
        "results/GLM-4.5/prefix_sums/solver.py": BY_LIBRARY,
        "AlgoTuneTasks/base.py": "import orjson\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root / "AlgoTuneTasks"

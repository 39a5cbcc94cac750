"""Records hold what RECODE-H's own metric functions need: its published definitions, applied to the records of a real run.

With s_i whether record i of a task has no error, no failure and no skip, and p_i its tests less skipped and failed ones, 0 where it has an error:
MRR is the mean of 1/(i+1) for the first i with s_i, the pass rate of unit tests the share of tasks with any s_i, and that of test cases the mean of
the largest p_i of a task divided by its cases.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.chat_server import ChatServer, Request, say
from tests.plugin.conftest import words
from tests.recode_h.scene import RIGHT, write

TESTS = """\
import pytest
from pkg.scale import double, triple

@pytest.fixture
def ready():
    if triple(0) == -1:
        raise RuntimeError("not ready")

def test_double():
    assert double(7) == 14

def test_triple():
    assert triple(7) == 21

def test_skips():
    if triple(1) == 4:
        pytest.skip("no")
    assert triple(2) == 6

def test_errors(ready):
    assert triple(3) == 9
"""
CASES = ["test_double", "test_triple", "test_skips", "test_errors"]
DOUBLE = "def double(x):\n    return 2 * x\n\n\n"
ERRED = DOUBLE + "def triple(x):\n    return {0: -1, 1: 4}.get(x, 3 * x)\n"
FAILED = DOUBLE + "def triple(x):\n    return {1: 4, 3: 10}.get(x, 3 * x)\n"
BROKEN = "def double(x:\n"


def junit(turn: dict[str, Any]) -> Counter[str]:
    return Counter(case["junit"] for case in turn["cases"])


def success(turn: dict[str, Any]) -> bool:
    counts = junit(turn)
    return counts["error"] == 0 and counts["failure"] == 0 and counts["skipped"] == 0


def passing(turn: dict[str, Any]) -> int:
    counts = junit(turn)
    return 0 if counts["error"] else len(turn["cases"]) - counts["skipped"] - counts["failure"]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def reciprocal_rank(record: dict[str, Any]) -> float:
    return next((1 / (i + 1) for i, turn in enumerate(record["turns"]) if success(turn)), 0.0)


@pytest.mark.slow
def test_the_published_definitions_applied_to_our_records(
    recode: Callable[..., pytest.RunResult],
    results: Callable[..., list[dict[str, Any]]],
    pytester: pytest.Pytester,
    workers: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for index in (1, 2):
        write(
            pytester.path / "set",
            {"test.py": TESTS, "instruction.txt": f"Write pkg/scale.py, number {index}.\n"},
            index=index,
            test_cases=CASES,
        )
    solving, never = [ERRED, FAILED, RIGHT], [BROKEN, FAILED, ERRED]

    def script(request: Request) -> Any:
        turn = max((int(number) for number in re.findall(r"Feedback on turn (\d)", request.prompt)), default=0)
        return say(f"```python pkg/scale.py\n{(solving if 'number 1' in request.prompt else never)[turn]}\n```")

    with ChatServer(script) as server:
        result = recode(
            workers, f"--recode-env=test_common1={sys.executable}", "set", "--recode-agent=one-shot", "--recode-turns=3",
            "--recode-model=openai/tiny-1", f"--recode-api-base={server.url}", "--recode-feedback=L0", "--recode-out=out",
        )  # fmt: skip
    played = sorted(results(), key=lambda record: str(record["task"]))
    assert [record["outcome"] for record in played] == ["solved", "unsolved"], words(result)
    first, second = ([junit(turn) for turn in record["turns"]] for record in played)
    assert first[0] == {"passed": 2, "skipped": 1, "error": 1}
    assert first[1] == second[1] == {"passed": 2, "skipped": 1, "failure": 1}
    assert first[2] == {"passed": 4}
    assert second[0] == {"error": 4}  # its tests could not be collected
    assert [turn["failed"] for turn in played[0]["turns"]] == [2, 2, 0]

    mrr = mean([reciprocal_rank(record) for record in played])
    unit_tests = mean([any(map(success, record["turns"])) for record in played])
    test_cases = mean([max(map(passing, record["turns"])) / len(CASES) for record in played])
    assert (mrr, unit_tests, test_cases) == (pytest.approx(1 / 6), 0.5, 0.75)
    assert [passing(turn) for turn in played[0]["turns"]] == [
        0,
        2,
        4,
    ]  # ours counts the two that passed beside an error

    done = subprocess.run(
        [sys.executable, "-m", "pytest_recode.cli", "report", "out", "--table=episodes", "--format=json"],
        capture_output=True,
        text=True,
        check=True,
    )
    [table] = json.loads(done.stdout)["tables"]
    [row] = [row for row in table["rows"] if row["model"] == "openai/tiny-1"]  # beside the published ones
    assert row["mrr"] == pytest.approx(mrr, abs=1e-3)
    assert row["recall"] == pytest.approx(100 * unit_tests)
    assert row["cases_best"] == pytest.approx(100 * test_cases)

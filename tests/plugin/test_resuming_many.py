"""Resuming k errors among n records reads the records a fixed number of times, whatever k is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

AGENT = """\
from pathlib import Path

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move


class Fickle:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        if Path("broken").exists():
            raise ZeroDivisionError("an agent with a fault of its own")
        workspace.write("answer.py", "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n")
        return Move(steps=1)


FICKLE = AgentKind(make=Fickle, needs_model=False)
"""

# Every file that a process of the run opens, by one audit hook; `os.write` has no event, so the file sees what grows.
COUNTS = """\
import json
import os
import sys
from pathlib import Path

opened = []
out = str(Path("out").resolve())


def hook(event, args):
    if event == "open" and not isinstance(args[0], int):
        path = os.path.join(os.getcwd(), os.fsdecode(args[0]))
        if path.startswith(out):
            opened.append(os.path.relpath(path, out))


sys.addaudithook(hook)


def pytest_unconfigure(config):
    Path(f"opened-{os.getpid()}").write_text(json.dumps(opened))
"""

ARGS = ("--recode-agent=fickle_agent:FICKLE", "--recode-turns=1")
N = 300


def resumed(recode: Run, place: Path, workers: str, errors: int) -> Counter[str]:
    """How often a run opened each file of its directory, which had `N` records of which so many are errors."""
    (place / "broken").touch()
    recode("-n0", *ARGS, "--recode-out=fault", "--recode-attempts=2")
    (place / "broken").unlink()
    recode("-n0", *ARGS, "--recode-out=out", "--recode-attempts=2")
    fault, solved = (
        json.loads((place / out / "results.jsonl").read_text().splitlines()[1]) for out in ("fault", "out")
    )
    (place / "out/results.jsonl").write_text(
        "".join(
            json.dumps({**(fault if number <= errors else solved), **of_attempt(solved, number)}) + "\n"
            for number in range(1, N + 1)
        )
    )
    for path in place.glob("opened-*"):
        path.unlink()
    result = recode(workers, *ARGS, "--recode-out=out", f"--recode-attempts={N}", "--recode-resume")
    result.assert_outcomes(passed=N)
    records = [json.loads(line) for line in (place / "out/results.jsonl").read_text().splitlines()]
    assert len({record["nodeid"] for record in records}) == len(records) == N
    assert {record["outcome"] for record in records} == {"solved"}
    return Counter(name for path in place.glob("opened-*") for name in json.loads(path.read_text()))


def of_attempt(record: dict[str, Any], number: int) -> dict[str, Any]:
    ending = f"-{record['attempt']}]"
    assert record["nodeid"].endswith(ending)
    # the first attempt has no number
    return {"attempt": number, "nodeid": record["nodeid"].removesuffix(ending) + (f"-{number}]" if number > 1 else "]")}


@pytest.mark.slow
def test_records_are_read_as_often_for_many_errors_as_for_one(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    pytester.makepyfile(fickle_agent=AGENT)
    pytester.syspathinsert()
    pytester.makeconftest(COUNTS)
    few = resumed(recode, pytester.path, workers, 1)
    for name in ("out", "fault"):
        (pytester.path / name).rename(pytester.path / f"first-{name}")
    many = resumed(recode, pytester.path, workers, 12)
    whole = ("results.jsonl", "results.new")
    assert {name: many[name] for name in whole} == {name: few[name] for name in whole}
    # and what is not read is not opened: the other files belong to the episodes that are played
    own = (few.total() - sum(few[name] for name in whole), many.total() - sum(many[name] for name in whole))
    assert own[1] <= 12 * own[0]

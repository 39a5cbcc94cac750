"""Resuming runs of 250 and of 2,500 records, of which 1 or 50 are errors: the time that each further retried error takes.

Offline, process sandbox, no workers. The agent answers at once, so that little but grading and books remains.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from pathlib import Path

from episodes import FILES
from measure import cost, pytest_command

RECORDS, ERRORS, ROUNDS = (250, 2500), (1, 50), 3
AGENT = '''\
from pathlib import Path

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move


class Fickle:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        if Path("broken").exists():
            raise ZeroDivisionError
        workspace.write("one.py", "def one():\\n    return 1\\n")
        return Move(steps=1)


FICKLE = AgentKind(make=Fickle, needs_model=False)


def pytest_sessionfinish(session):
    """A run whose errors are wanted has not failed."""
    session.exitstatus = 0
'''


def play(here: Path, out: str, attempts: int, *more: str) -> float:
    """Seconds; the run may fail."""
    run = (
        "trivial", "--recode-agent=fickle:FICKLE", "--recode-sandbox=process", "--recode-turns=1",
        f"--recode-attempts={attempts}", f"--recode-out={out}", *more,
    )  # fmt: skip
    return cost(pytest_command(*run), here).wall


def records(here: Path, whole: int, errors: int) -> None:
    """A directory `run` with so many records, all made from two that were played."""
    shutil.rmtree(here / "run", ignore_errors=True)
    shutil.copytree(here / "solved", here / "run")
    fault, solved = (
        json.loads((here / out / "results.jsonl").read_text().splitlines()[1]) for out in ("fault", "solved")
    )
    stem = solved["nodeid"].removesuffix("-2]")
    with (here / "run/results.jsonl").open("w") as file:
        for number in range(1, whole + 1):
            own = {"attempt": number, "nodeid": f"{stem}-{number}]" if number > 1 else f"{stem}]"}
            # errors lie among the others, as in a real run
            record = fault if number % (whole // errors) == 0 else solved
            file.write(json.dumps({**record, **own}) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        for path, text in FILES.items():
            (here / "trivial" / path).parent.mkdir(parents=True, exist_ok=True)
            (here / "trivial" / path).write_text(text)
        (here / "fickle.py").write_text(AGENT)
        play(here, "solved", 2)
        (here / "broken").touch()
        play(here, "fault", 2, "-p", "fickle")
        (here / "broken").unlink()
        for whole in RECORDS:
            walls: dict[int, list[float]] = {errors: [] for errors in ERRORS}
            for _ in range(ROUNDS):
                for errors in ERRORS:
                    records(here, whole, errors)
                    walls[errors].append(play(here, "run", whole, "--recode-resume"))
            one, many = (statistics.median(walls[errors]) for errors in ERRORS)
            print(f"{whole:>5} records: {one:.2f} s with {ERRORS[0]} error, {many:.2f} s with {ERRORS[1]},", end=" ")
            print(f"{1000 * (many - one) / (ERRORS[1] - ERRORS[0]):.0f} ms for each further one")


if __name__ == "__main__":
    main()

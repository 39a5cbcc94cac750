"""A small task for the simulated models, and what one of them answers to it. Run by a test in processes of its own."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from pytest_recode.agents.prompt_texts import system_text
from pytest_recode.models import Ledger, Message, ModelContext
from pytest_recode.records.null_ledger import NullLedger
from pytest_recode.simulated.sim import EXPERT, GRADUATE, NOVICE, SimModel, Skill
from pytest_recode.task import Parts, Task

STATS = '''\
"""Small statistics."""

from __future__ import annotations

import math

LIMIT = 3


def mean(values: list[float]) -> float:
    """The mean."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)  # may not be empty


def spread(values: list[float], ddof: int = 0) -> float:
    """The standard deviation."""
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - ddof))


class Window:
    """The last values."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.values: list[float] = []

    def push(self, value: float) -> float:
        self.values = [*self.values, value][-self.size :]
        return mean(self.values) - min(self.values)
'''
CLIP = """\
from stats import LIMIT, mean


def clip(values: list[float]) -> list[float]:
    middle = mean(values)
    return [min(max(value, middle - LIMIT), middle + LIMIT) for value in values]
"""

KINDS = {"novice": NOVICE, "graduate": GRADUATE, "expert": EXPERT}

PARTS = Parts(
    instruction="",
    paper=None,
    repo={"README.md": b"# Small\n", "stats.py": b"raise NotImplementedError\n", "tools/clip.py": b""},
    reference={"stats.py": STATS.encode(), "tools/clip.py": CLIP.encode()},
    tests={},
)

TASK = Task(
    id="small",
    title="Small statistics",
    format="directory",
    manifest=Path("task.yaml"),
    targets=("stats.py", "tools/clip.py"),
    interfaces=("stats.mean", "stats.spread", "stats.Window.push", "tools.clip.clip"),
    load=lambda: PARTS,
)

SYSTEM = Message(role="system", content=system_text(native_tools=False, command_seconds=60, target="stats.py"))


def sim(
    seed: str = "s",
    *,
    kind: str = "graduate",
    skill: Skill | None = None,
    ledger: Ledger | None = None,
    task: Task = TASK,
    parts: Parts = PARTS,
) -> SimModel:
    context = ModelContext(name=f"sim/{kind}", ledger=ledger or NullLedger(), seed=seed, task=task, parts=lambda: parts)
    made = KINDS[kind].make(context)
    assert isinstance(made, SimModel)
    return replace(made, skill=skill) if skill is not None else made


def prompt(step: int = 1, steps: int = 3, turn: int = 1, feedback: str = "") -> list[Message]:
    """As the `recode` agent asks."""
    shown = f"# Feedback on turn {turn - 1}\n\n{feedback}" if feedback else "# Feedback\n\nNone yet."
    budget = f"Step {step} of {steps} in turn {turn} of 10. After it the targets are handed in."
    return [SYSTEM, Message(role="user", content=f"{shown}\n\n# Current content of the targets\n\n...\n\n{budget}")]


def transcript() -> str:
    """A digest of what every skill answers over six turns of rising feedback."""
    digest = hashlib.sha256()
    for kind in KINDS:
        model = sim(f"small/{kind}", kind=kind)
        for turn in range(1, 7):
            level = min(turn - 2, 4)
            feedback = f"Feedback on turn {turn - 1}, level L{level}.\nhidden tests: 3 of 4 fail.\n" if turn > 1 else ""
            for step in (1, 2, 3):
                digest.update(model.complete(prompt(step, 3, turn, feedback)).text.encode())
    return digest.hexdigest()


if __name__ == "__main__":
    print(transcript())

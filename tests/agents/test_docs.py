"""docs/agents.md shows what the code does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pytest_recode.agents import doing, memory, one_shot, prompts, recode, recode_h, retrieval
from pytest_recode.agents.actions import FORMS, Action, Step
from pytest_recode.agents.fences import files
from pytest_recode.agents.protocol import parse

TEXT = (Path(__file__).parents[2] / "docs" / "agents.md").read_text("utf-8")


def indented(after: str) -> str:
    found = re.search(r"(?:^    .*\n|^\n)+", TEXT[TEXT.index(after) :], re.MULTILINE)
    assert found is not None
    return "\n".join(line[4:] for line in found[0].split("\n")).strip()


def test_the_example_of_the_protocol_is_one() -> None:
    step = parse(indented("### The text protocol"))
    assert isinstance(step, Step)
    assert step.planning == "Mend the axis, look at the result, submit."
    assert [action.kind for action in step.actions] == ["edit", "run", "submit"]
    assert step.actions[0] == Action(
        kind="edit",
        arguments={
            "path": "src/sinkhorn.py",
            "old": "    u = a / (K @ v).sum(0)",
            "new": "    u = a / (K @ v)",
        },
    )


def test_the_example_of_one_shot_is_one() -> None:
    found = files(indented("The answer's last fenced block"), ("src/sinkhorn.py", "src/other.py"))
    assert found.files == {"src/sinkhorn.py": "import numpy as np"}


def test_the_table_of_actions_is_complete() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| [^|]* \|$", TEXT[TEXT.index("### Actions") :], re.MULTILINE))
    for kind, form in FORMS.items():
        assert re.findall(r"`(\w+)`", rows.get(kind, "")) == sorted(form.takes, key=list(form.takes).index), kind


@pytest.mark.parametrize(
    "words",
    [
        f"More than {memory.THRESHOLD} messages",
        f"down to the last {memory.KEEP}",
        f"More than {memory.THRESHOLD} messages of part 3, or more than {memory.MAX_CHARACTERS:,} characters",
        f"Results over {doing.MAX_RESULT:,} characters ({doing.MAX_RESULTS:,} for all of one answer's)",
        f"answers over {recode.MAX_REMEMBERED:,} and targets over",
        f"{prompts.MAX_TARGET:,} are shown",
        f"up to {one_shot.MAX_REPOSITORY:,} characters",
        f"five best is shown up to {retrieval.MAX_SHOWN:,} characters",
        "threshold {memory_threshold} and tail {memory_keep}".format(**recode_h.DEFAULTS),
    ],
)
def test_the_numbers_are_those_of_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())  # wherever its lines break


def test_the_agent_of_ones_own_and_its_check_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, check = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "my_agents.py").write_text(agent)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    exec(compile(check, "docs/agents.md", "exec"), names)
    names["test_terse"]()  # type: ignore[operator]
    assert sys.modules.pop("my_agents").__file__ == str(tmp_path / "my_agents.py")

"""docs/reference/agents.md shows what the code does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pytest_recode.agents import memory, one_shot, prompt_texts, recode_h, retrieval, step_log, tool_execution
from pytest_recode.agents.actions import Action, Step
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.named_blocks import files_in
from pytest_recode.agents.text_form import read_text

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "agents.md").read_text("utf-8")


def indented(after: str) -> str:
    found = re.search(r"(?:^    .*\n|^\n)+", TEXT[TEXT.index(after) :], re.MULTILINE)
    assert found is not None
    return "\n".join(line[4:] for line in found[0].split("\n")).strip()


def test_the_example_of_the_text_form_is_one() -> None:
    step = read_text(indented("### The text form"))
    assert isinstance(step, Step)
    assert step.planning == "Fix the axis, look at the result, submit."
    assert [action.kind for action in step.actions] == ["edit", "run", "submit"]
    texts = {"old": "    u = a / (K @ v).sum(0)\n", "new": "    u = a / (K @ v)\n"}
    assert step.actions[0] == Action(kind="edit", arguments={"path": "src/sinkhorn.py", **texts}, whole_lines=True)


def test_the_example_of_one_shot_is_one() -> None:
    found = files_in(indented("The answer's last block"), ("src/sinkhorn.py", "src/other.py"), ())
    assert found.files == {"src/sinkhorn.py": "import numpy as np\n"}


def test_the_table_of_actions_is_complete() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| [^|]* \|$", TEXT[TEXT.index("### Actions") :], re.MULTILINE))
    for kind, form in FORMS.items():
        assert re.findall(r"`(\w+)`", rows.get(kind, "")) == sorted(form.takes, key=list(form.takes).index), kind


@pytest.mark.parametrize(
    "words",
    [
        f"limited in tokens: {memory.MAX_TOKENS:,}, or the rest of the model's context window",
        f"{memory.MAX_TOKENS_UNKNOWN:,} if the window is unknown",
        f"Results over {tool_execution.MAX_RESULT:,} characters ({tool_execution.MAX_RESULTS:,} for all results of an answer)",
        f"answers over {step_log.MAX_REMEMBERED:,} and targets over",
        f"{prompt_texts.MAX_TARGET:,} are shortened",
        f"up to {one_shot.MAX_REPOSITORY:,} characters",
        f"five best results is shown up to {retrieval.MAX_SHOWN:,} characters",
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
    exec(compile(check, "docs/reference/agents.md", "exec"), names)
    names["test_terse"]()  # type: ignore[operator]
    assert sys.modules.pop("my_agents").__file__ == str(tmp_path / "my_agents.py")

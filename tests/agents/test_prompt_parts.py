"""Sizes of the parts of a first prompt: every part is found, and they add up to the estimate of the agents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.agents.memory import size_of_tools
from pytest_recode.episode.first_prompt import Prompt, first_prompt
from pytest_recode.formats.directory import load
from pytest_recode.installed import Installed
from pytest_recode.models.prompt_size import CHARACTERS, tokens_of
from pytest_recode.settings import Settings, as_played

TASKS = Path(__file__).resolve().parents[2] / "tasks"
REST = "rest: headings, form of the answer, budget"
NAMED = {"names of the targets", "names of the interfaces", "list of the repository's files"}
PARTS_OF = {
    "recode": {"system prompt", "paper", "instruction", *NAMED, "current targets", REST},
    "recode-h": {"system prompt", "paper", "instruction", "current targets", REST},
    "one-shot": {"system prompt", "paper", "instruction", *NAMED, "the repository's files", REST},
}


def prompt(task: str, agent: str, *, tools: bool = False, paper: bool = True) -> Prompt:
    [loaded] = load(TASKS / task / "task.yaml")
    kind = Installed("agents")[agent]
    settings = as_played(replace(Settings(agents=(agent,)), paper=paper))
    return first_prompt(loaded, loaded.load(), kind, settings, native_tools=tools)


@pytest.mark.parametrize("agent", PARTS_OF)
@pytest.mark.parametrize("task", ["sinkhorn", "nerf-rendering"])
def test_every_part_is_found(task: str, agent: str) -> None:
    measured = prompt(task, agent)
    sizes = {part.name: part.characters for part in measured.parts if part.characters}
    assert set(sizes) == PARTS_OF[agent]
    assert sizes[REST] < 600
    assert sum(part.characters for part in measured.parts) == sum(len(message.content) for message in measured.messages)
    assert sum(part.tokens for part in measured.parts) == tokens_of(measured.messages, CHARACTERS)


@pytest.mark.parametrize("task", sorted(path.parent.name for path in TASKS.glob("*/task.yaml")))
def test_the_first_prompt_of_every_bundled_task_is_short(task: str) -> None:
    for agent in PARTS_OF:
        for tools in (False, True):
            assert sum(part.tokens for part in prompt(task, agent, tools=tools).parts) < 8_000


def test_tools_count() -> None:
    measured = prompt("sinkhorn", "recode", tools=True)
    [size] = [part.characters for part in measured.parts if part.name == "tools"]
    assert size == size_of_tools(measured.tools) > 0
    assert sum(part.tokens for part in measured.parts) > tokens_of(measured.messages, CHARACTERS)


def test_a_paper_that_is_left_out_has_no_part_but_its_place() -> None:
    with_paper, without = (
        {part.name: part.characters for part in prompt("sinkhorn", "recode", paper=paper).parts}
        for paper in (True, False)
    )
    assert without.get("paper", 0) < 200 < with_paper["paper"]

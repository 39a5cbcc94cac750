"""The agent cannot reach the answer: not from its workspace, not in its prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.agents import AgentKind, one_shot, recode, recode_h
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.formats.directory import FORMAT
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment, Limits, brief
from tests.agents.scripted import Scripted, a_context

TASKS = Path(__file__).parents[2] / "tasks"


@pytest.mark.invariant("agent-cannot-reach-the-answer")
def test_a_command_sees_neither_tests_nor_reference(walls: Sandbox) -> None:
    (task,) = FORMAT.load(TASKS / "sinkhorn" / "task.yaml")
    shown = brief(task, task.load())
    hidden = [path for part in ("tests", "reference") for path in (TASKS / "sinkhorn" / part).rglob("*.py")]
    assert hidden
    with SandboxWorkspace(walls, shown, Environment(), Limits()) as workspace:
        for path in [TASKS, *hidden]:
            assert workspace.run(f"ls -d '{path}'").status != 0
        assert workspace.run("find . -name 'test_*'").output == ""
        assert workspace.run("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -i -e key -e token").output == ""
        assert workspace.run("timeout 5 bash -c 'exec 3<>/dev/tcp/1.1.1.1/53'").status != 0
        assert set(workspace.list()) == {*shown.repo, "paper.md", "instruction.md"}


@pytest.mark.invariant("agent-cannot-reach-the-answer")
@pytest.mark.parametrize("kind", [recode.KIND, recode_h.KIND, one_shot.KIND], ids=["recode", "recode-h", "one-shot"])
def test_no_prompt_holds_a_line_of_tests_or_reference(kind: AgentKind, walls: Sandbox) -> None:
    (task,) = FORMAT.load(TASKS / "sinkhorn" / "task.yaml")
    parts = task.load()
    shown = brief(task, parts)
    public = "\n".join([parts.instruction, parts.paper or "", *(data.decode() for data in parts.repo.values())])
    secret = {
        line.strip()
        for part in (parts.tests, parts.reference)
        for data in part.values()
        for line in data.decode().splitlines()
        if len(line.strip()) > 25 and line.strip() not in public
    }
    assert len(secret) > 20
    model = Scripted(["nothing"] * 12)
    with SandboxWorkspace(walls, shown, Environment(), Limits()) as workspace:
        kind.make(a_context(model)).act(shown, None, workspace)
    said = "\n".join(message.content for asked in model.asked for message in asked)
    assert parts.instruction.strip() in said
    assert [line for line in secret if line in said] == []

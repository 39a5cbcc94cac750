"""The doors for others: what a conftest.py adds is there by name, and is told what happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]


CONFTEST = '''\
import json
from pathlib import Path

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move
from pytest_recode.feedback import PolicyKind
from pytest_recode.models import ModelKind, Reply

RIGHT = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"


class Parrot:
    """Says the same whatever it is asked."""

    name, simulated, native_tools = "parrot", False, False

    def complete(self, messages, *, tools=(), schema=None):
        return Reply(text=f"```python answer.py\\n{RIGHT}```")


def pytest_recode_models():
    return {"mine/": ModelKind(make=lambda context: Parrot(), check=lambda context: None)}


def pytest_recode_policies():
    return {"backwards": PolicyKind(make=lambda options: lambda turns: max(4 - len(turns), 0))}


def pytest_recode_agents():
    class Late:
        def __init__(self, context):
            self.turns = 0

        def act(self, brief, feedback, workspace):
            self.turns += 1
            if self.turns == 3:
                workspace.write("answer.py", RIGHT)
            return Move()

    return {"late": AgentKind(make=Late, needs_model=False)}


def told(line):
    with open(Path(__file__).parent / "told", "a") as file:
        file.write(json.dumps(line) + "\\n")


def pytest_recode_turn_finished(item, turn):
    told(["turn", item.name, turn.number, turn.verdict.passed])


def pytest_recode_episode_finished(config, record):
    told(["episode", record["task"], record["outcome"]])
'''


@pytest.fixture(autouse=True)
def _conftest(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)


def told(pytester: pytest.Pytester) -> list[Any]:
    return [json.loads(line) for line in (pytester.path / "told").read_text().splitlines()]


@pytest.mark.slow
def test_an_agent_and_a_policy_and_who_is_told(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    recode(workers, "--recode-agent=late", "--recode-feedback=backwards", "--recode-out=out").assert_outcomes(passed=1)
    [record] = results()
    assert [turn["level"] for turn in record["turns"]] == [None, "L3", "L2"]
    name = "episode[late-backwards]"
    assert told(pytester) == [
        ["turn", name, 1, 0],
        ["turn", name, 2, 0],
        ["turn", name, 3, 2],
        ["episode", "tiny", "solved"],
    ]


@pytest.mark.slow
def test_a_model_by_prefix(make_task: MakeTask, recode: Run, results: Results, workers: str) -> None:
    make_task()
    recode(workers, "--recode-agent=one-shot", "--recode-model=mine/anything", "--recode-out=out")
    assert [(record["model"], record["solved_turn"]) for record in results()] == [("mine/anything", 1)]


@pytest.mark.slow
def test_an_unknown_name_lists_what_was_added(make_task: MakeTask, recode: Run) -> None:
    make_task()
    text = words(recode("--recode-agent=later"))
    assert "unknown agent 'later' (did you mean late?): choose from" in text
    assert "unknown feedback policy 'backward' (did you mean backwards?): choose from" in words(
        recode("--recode-feedback=backward")
    )


@pytest.mark.slow
def test_what_others_add_is_not_taken_for_the_projects_own(
    make_task: MakeTask, recode: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent of somebody else's runs without walls only if the user says so."""
    make_task()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("PATH", "/nowhere")
    result = recode("--recode-agent=late", "--recode-sandbox=auto")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--recode-sandbox=process" in words(result)
    assert (
        recode("--recode-agent=noop", "--recode-sandbox=auto", "--recode-turns=1").ret == pytest.ExitCode.TESTS_FAILED
    )


WRONG = [
    ("pytest_recode_policies", "{'steady': lambda turns: 1}", "--recode-feedback=steady", ["feedback policy 'steady' of", "conftest.py is registered with a function: it must be a pytest_recode.feedback.PolicyKind"]),
    ("pytest_recode_agents", "['mine']", "--recode-agent=mine", ["pytest_recode_agents of", "conftest.py returned a list: it must return a mapping of names (docs/reference/hooks.md)"]),
    ("pytest_recode_agents", "{3: 'x:Y'}", "--recode-agent=mine", ["pytest_recode_agents of", "conftest.py returned keys that are no str"]),
    ("pytest_recode_agents", "1 / 0", "--recode-agent=mine", ["pytest_recode_agents of", "conftest.py raised ZeroDivisionError: division by zero, at", "conftest.py:2"]),
    ("pytest_recode_agent", "{}", "--recode-agent=noop", ["conftest.py defines the hook pytest_recode_agent", "(did you mean pytest_recode_agents?)", "choose from"]),
    ("pytest_recode_agents", "{'mine': 3}", "--recode-agent=mine", ["agent 'mine' of", "conftest.py is a int: it must be an AgentKind, or a class or function that takes an AgentContext"]),
    ("pytest_recode_agents", "{'mine': 'textwrap'}", "--recode-agent=mine", ["agent 'mine' of", "'textwrap' names no attribute: write textwrap:NAME; it has", "TextWrapper"]),
    ("pytest_recode_models", "{'m': 'nowhere:KIND'}", "--recode-model=m", ["model 'm' of", "there is no module 'nowhere'"]),
    ("pytest_recode_formats", "{'task.yaml': 'nowhere:FORMAT'}", "--recode-agent=noop", ["ERROR: format 'task.yaml' of", "there is no module 'nowhere'"]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("hook", "offer", "option", "lines"), WRONG)
def test_a_wrong_offer_is_one_line(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, hook: str, offer: str, option: str, lines: list[str]
) -> None:
    make_task()
    pytester.makeconftest(f"def {hook}():\n    return {offer}\n")
    result = recode(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_message(words(result), *lines)
    assert "Traceback" not in words(result)
    assert "INTERNALERROR" not in words(result)


@pytest.mark.slow
def test_an_offer_that_nobody_chose_is_not_imported(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task()
    pytester.makeconftest("def pytest_recode_policies():\n    return {'later': 'nowhere:KIND'}\n")
    recode("--recode-agent=reference", "--recode-feedback=L0").assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_level_that_is_none_is_the_policys_fault(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task()
    pytester.makeconftest(
        "from pytest_recode.feedback import PolicyKind\n\n\n"
        "def pytest_recode_policies():\n    return {'nine': PolicyKind(make=lambda options: lambda turns: 9)}\n"
    )
    recode("--recode-agent=noop", "--recode-feedback=nine", "--recode-out=out").assert_outcomes(errors=1)
    assert results()[0]["error"] == {
        "kind": "user",
        "message": "feedback policy 'nine' gave level 9: a policy gives 0 to 4, or None",
    }

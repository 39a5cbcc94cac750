"""An author's mistake in a part is one line that names the part and the field, and neither a verdict nor the end of the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_line, assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

AGENTS = """\
import functools
import sys
from dataclasses import replace

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move
from pytest_recode.formats.directory import FORMAT
from pytest_recode.usage import Usage


class Mute:
    pass


class Actor:
    def __init__(self, context, act):
        self.act = lambda brief, feedback, workspace: act()


RETURNED = {
    "minus": lambda: Move(steps=-1),
    "part": lambda: Move(steps=1.5),
    "word": lambda: Move(steps="two"),
    "none": lambda: None,
    "many": lambda: Move(steps=99),
    "cost": lambda: Move(usage=Usage(cost_usd=float("nan"))),
    "exit": lambda: sys.exit(3),
    "mute": None,
}


def load(name, manifest):
    return [replace(task, format=name, id=name) for task in FORMAT.load(manifest)]


def pytest_recode_agents():
    return {
        name: AgentKind(make=functools.partial(Actor, act=act) if act else lambda context: Mute())
        for name, act in RETURNED.items()
    }


def pytest_recode_formats():
    return {
        f"{name}.yaml": replace(
            FORMAT, name=name, manifest=f"{name}.yaml", load=functools.partial(load, name), defaults={"agents": (name,)}
        )
        for name in RETURNED
    }
"""
MESSAGES = {
    "minus": "agent minus: act() returned Move.steps=-1: must be a whole number from 0",
    "part": "agent part: act() returned Move.steps=1.5: must be a whole number from 0",
    "word": "agent word: act() returned Move.steps='two': must be a whole number from 0",
    "none": "agent none: act() returned None: must be a pytest_recode.episode.Move",
    "many": "agent many: act() returned Move.steps=99: must be at most 3 (--recode-steps, AgentContext.steps)",
    "cost": "agent cost: act() returned Move.usage.cost_usd=nan: must be a number from 0 or None",
    "exit": "an agent, or another part, ended the process: SystemExit: 3, at ",
    "mute": "make() returned a Mute: lacks act(brief, feedback, workspace)",
}


@pytest.mark.slow
def test_what_agents_return_is_checked_before_it_is_graded(
    pytester: pytest.Pytester, make_task: MakeTask, recode: Run, results: Results
) -> None:
    pytester.makeconftest(AGENTS)
    for name in MESSAGES:
        (make_task(name) / "task.yaml").rename(pytester.path / "bench" / name / f"{name}.yaml")
    recode("--recode-out=out", "--recode-turns=1", "--recode-model=sim/graduate").assert_outcomes(errors=len(MESSAGES))
    errors = {record["task"]: record["error"] for record in results()}
    assert errors.keys() == MESSAGES.keys()
    for name, message in MESSAGES.items():
        assert message in errors[name]["message"]
        assert "Traceback" not in errors[name]["message"]
        assert errors[name]["kind"] == ("user" if name == "mute" else "internal")


PARTS = """\
from dataclasses import replace

from pytest_recode.agents import AgentKind
from pytest_recode.agents.noop import KIND as NOOP
from pytest_recode.sandboxes.process import KIND, Process


class Other(Process):
    name = "other-name"


class NoLimit:
    name, isolation, host = "limitless", "separate", ""

    def __init__(self, context):
        pass

    def ready(self, environment):
        pass

    def launch(self, program, environment, limits):
        raise RuntimeError

    def close(self):
        pass


class NoConstructor(Process):
    def __init__(self, context):
        raise RuntimeError("no podman.sock")


class NoClose(Process):
    def close(self):
        super().close()
        raise RuntimeError("cannot close")


def fails(*arguments):
    raise ZeroDivisionError("of the author")


def kind(**fields):
    return replace(KIND, **{"make": Other, "local": False, **fields})


def pytest_recode_agents():
    return {
        "noop": NOOP,
        "wrong-key": AgentKind(make=NOOP.make, defaults={"turnz": 3}),
        "bare": "bare:KIND",
        "unready": AgentKind(make=NOOP.make, needs_model=False, check=fails),
    }


def pytest_recode_sandboxes():
    return {
        "process": kind(),
        "limitless": kind(make=NoLimit),
        "constructor": kind(make=NoConstructor),
        "close": kind(make=NoClose),
        "check": kind(check=fails),
        "false": kind(check=lambda context: False),
        "reap": kind(reap=fails),
    }


def pytest_recode_turn_finished(item, turn):
    fails()


def pytest_recode_episode_finished(config, record):
    fails()
"""
NOT_STARTED = [
    ("--recode-agent=wrong-key", "agent 'wrong-key' of", ["AgentKind.defaults has 'turnz' (did you mean turns?)", "turns"]),
    ("--recode-agent=bare", "agent 'bare' of", ["importing bare raised ModuleNotFoundError", "bare.py:1"]),
    ("--recode-agent=unready", "agent 'unready' of", ["check() raised ZeroDivisionError: of the author, at", "conftest.py"]),
    ("--recode-sandbox=check", "sandbox 'check' of", ["check() raised ZeroDivisionError: of the author, at", "conftest.py"]),
    ("--recode-sandbox=false", "sandbox 'false' of", ["check() returned False: must be a str or None"]),
    ("--recode-sandbox=reap", "sandbox 'reap' of", ["reap() raised ZeroDivisionError"]),
]  # fmt: skip


@pytest.fixture
def _parts(pytester: pytest.Pytester, make_task: MakeTask) -> None:
    pytester.makeconftest(PARTS)
    pytester.makepyfile(bare="import no_such_thing\n")
    make_task()


@pytest.mark.slow
@pytest.mark.usefixtures("_parts")
@pytest.mark.parametrize(("option", "subject", "rest"), NOT_STARTED, ids=[option for option, _, _ in NOT_STARTED])
def test_a_run_does_not_start_with_a_wrong_part(recode: Run, option: str, subject: str, rest: list[str]) -> None:
    result = recode("--recode-agent=noop", option)
    assert_line(result.stderr.str() + result.stdout.str(), subject, *rest)
    assert "Traceback" not in words(result)
    assert "INTERNALERROR" not in words(result)


@pytest.mark.slow
@pytest.mark.usefixtures("_parts")
@pytest.mark.parametrize(
    ("sandbox", "words_of_it"),
    [
        ("limitless", "lacks the attribute 'memory_limit'"),
        ("constructor", "make() raised RuntimeError: no podman.sock"),
    ],
)
def test_a_sandbox_that_cannot_be_made_is_an_error_of_its_episodes(recode: Run, sandbox: str, words_of_it: str) -> None:
    result = recode("--recode-agent=noop", f"--recode-sandbox={sandbox}")
    result.assert_outcomes(errors=1)
    assert_message(words(result), f"sandbox '{sandbox}' of", words_of_it)
    assert "interrupted" not in words(result)


@pytest.mark.slow
@pytest.mark.usefixtures("_parts")
def test_hooks_that_raise_are_one_warning_each(recode: Run, results: Results) -> None:
    result = recode("--recode-agent=noop", "--recode-sandbox=close", "--recode-turns=2", "--recode-out=out")
    result.assert_outcomes(failed=1)
    assert [record["outcome"] for record in results()] == ["unsolved"]
    for name in ("turn", "episode"):
        assert words(result).count(f"the hook pytest_recode_{name}_finished raised ZeroDivisionError") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("_parts")
def test_a_part_in_place_of_a_built_in_one_is_named(recode: Run, results: Results, pytester: pytest.Pytester) -> None:
    result = recode("--recode-agent=noop", "--recode-sandbox=process", "--recode-turns=1", "--recode-out=out")
    replaced = {"agent noop": f"{pytester.path}/conftest.py", "sandbox process": f"{pytester.path}/conftest.py"}
    for part, source in replaced.items():
        assert f"recode: {part} is that of {source}" in words(result)
    [record] = results()
    assert record["replaced"] == replaced
    assert record["sandbox"] == "process"

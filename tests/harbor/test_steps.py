"""Harbor tasks of several steps: what they become, which step a turn belongs to, and episodes of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import docker.errors  # noqa: F401  now: pytester forgets at its end what a test was the first to import, and the clients that are there would be of another copy
import pytest

from pytest_recode.episode import Move, Turn
from pytest_recode.episode.stepwise import position
from pytest_recode.feedback.policies import ESCALATE, NONE
from pytest_recode.formats.harbor import FORMAT
from pytest_recode.oracle.step_verdicts import joined, verdict_of_step
from pytest_recode.task import WHOLE, Oracle, Task
from pytest_recode.testing import check_format
from pytest_recode.verdict import Case, Outcome, Verdict
from tests.harbor.scene import CONFIG, STEPS, lay_out
from tests.harbor.test_session import PLAIN, need_docker, records

NEVER, ALWAYS = NONE.make({}), ESCALATE.make({})


def steps_of(root: Path, config: str = "", files: dict[str, str | None] | None = None) -> Task:
    """The two steps, with other tables of steps in their `task.toml`."""
    more = {"task.toml": CONFIG + config} if config else {}
    [task] = FORMAT.load(lay_out(root, {**STEPS, **more, **(files or {})}))
    return task


def of_reward(reward: float | None, *names: str) -> Verdict:
    """A step's verdict with this reward, and these failed cases; None: it exceeded its time."""
    solved = reward is not None and reward >= 1.0
    outcomes = dict.fromkeys(names, Outcome.FAILED) or {"reward": Outcome.PASSED if solved else Outcome.FAILED}
    cases = tuple(Case(id=name, interface=name, outcome=outcome) for name, outcome in outcomes.items())
    return Verdict(cases=cases, seed=0, isolation="verifier", scores={} if reward is None else {"reward": reward})


def played(oracle: Oracle, *judged: tuple[int, float | None]) -> list[Turn]:
    """Turns of steps, with the rewards of their verifiers."""
    turns: list[Turn] = []
    for index, reward in judged:
        earlier = turns[-1].verdict if turns else None
        verdict = joined(oracle, index, of_reward(reward), earlier)
        turns.append(Turn(number=len(turns) + 1, feedback=None, move=Move(), verdict=verdict, targets={}))
    return turns


@pytest.fixture
def two(tmp_path: Path) -> Oracle:
    return steps_of(tmp_path / "two").oracle


def test_a_task_of_steps_has_what_each_of_them_says(tmp_path: Path) -> None:
    task = steps_of(tmp_path / "two")
    assert not task.fault
    assert task.targets == (WHOLE,)
    assert (task.facts["steps"], task.facts["reward"]) == (["write", "use"], "mean")
    write, use = task.oracle.steps
    assert (write.least, use.least) == ({"reward": 1.0}, {})
    assert (write.setup, use.setup, sorted(use.files())) == ("", "setup.sh", ["numbers.txt", "setup.sh"])
    assert "double(x)" in task.load().instruction == write.load().instruction
    assert "doubled.txt" in use.load().instruction
    # a step's own file replaces that of all
    assert b"PYTHONPATH" in use.load().tests["test.sh"] != write.load().tests["test.sh"]
    assert sorted(use.load().reference) == ["solve.sh"]


def test_the_format_keeps_the_rules_of_formats(tmp_path: Path) -> None:
    check_format(FORMAT, lay_out(tmp_path / "two", STEPS))


def test_every_file_of_a_step_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    texts = {path.removeprefix("steps/") for path in STEPS if path.startswith("steps/")}
    parts = steps_of(tmp_path / "two").load()
    assert {path.removeprefix("steps/") for path in parts.tests if path.startswith("steps/")} == texts


def test_a_step_says_otherwise_than_the_task(tmp_path: Path) -> None:
    config = """
[[steps]]
name = "write"
artifacts = ["double.py"]
[steps.verifier]
timeout_sec = 7
environment_mode = "separate"
env = {MODE = "strict"}
[[steps]]
name = "use"
[steps.agent]
timeout_sec = 5000
"""
    task = steps_of(tmp_path, config, {"steps/write/tests/Dockerfile": "FROM x\nCOPY . /tests\n"})
    assert not task.fault
    write, use = task.oracle.steps
    assert (write.targets, use.targets) == (("double.py",), (WHOLE,))
    assert (write.test_seconds, use.test_seconds) == (7.0, 20.0)
    assert (write.verifier.separate, write.verifier.uploads, use.verifier.separate) == (True, False, False)
    assert write.verifier.environment is not None
    assert write.verifier.environment.dockerfile == tmp_path / "steps/write/tests/Dockerfile"
    assert write.verifier.variables == (("MODE", "strict"),)
    assert task.limits.episode_seconds == 5120.0


ENTRY = '[[steps]]\nname = "write"\n'
REFUSED = {
    "no name": ("[[steps]]\nmin_reward = 1.0\n", {}, "steps[0].name", "name of a directory"),
    "a path": ('[[steps]]\nname = "../x"\n', {}, "steps[0].name", "name of a directory"),
    "equal names": (
        ENTRY + ENTRY.replace("write", "Write"),
        {"steps/Write/instruction.md": "x"},
        "steps",
        "must differ",
    ),
    "no instruction": ('[[steps]]\nname = "none"\n', {}, "steps/none/instruction.md", "no such file"),
    "no script": (ENTRY, {"tests/test.sh": None}, "steps/write/tests/test.sh", "no such file"),
    "a service": (ENTRY + 'healthcheck = {command = "true"}\n', {}, "steps.healthcheck", "choose other tasks"),
    "commands": (
        ENTRY + '[[steps.verifier.collect]]\ncommand = "ls"\n',
        {},
        "verifier.collect",
        "commands in other containers",
    ),
    "a threshold": (ENTRY + 'min_reward = "high"\n', {}, "steps[0].min_reward", "must be a number"),
    "a strategy": (
        'multi_step_reward_strategy = "best"\n' + CONFIG + ENTRY,
        {},
        "multi_step_reward_strategy",
        "mean, final",
    ),
    "an unknown key": (ENTRY + "retries = 3\n", {}, "unknown key 'retries' in [steps]", "min_reward"),
    "a conversation": (ENTRY, {"steps/write/trajectory.json": "{}"}, "trajectory.json", "not supported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_step_may_not_ask_for_is_refused_by_name(tmp_path: Path, name: str) -> None:
    config, files, *words = REFUSED[name]
    text = config if config.startswith("multi") else CONFIG + config
    [task] = FORMAT.load(lay_out(tmp_path, {**STEPS, "task.toml": text, **files}))
    assert "\n" not in task.fault
    for each in words:
        assert each in task.fault, task.fault


@pytest.mark.parametrize(
    ("judged", "policy", "index", "own"),
    [
        ((), ALWAYS, 0, 0),
        (((0, 0.5),), ALWAYS, 0, 1),
        (((0, 0.5), (0, 1.0)), ALWAYS, 1, 0),
        (((0, 1.0), (1, 0.0)), ALWAYS, 1, 1),
        (((0, 1.0), (1, 0.0), (1, 0.5)), ALWAYS, None, None),  # the most turns of a step
        (((0, 0.5),), NEVER, None, None),  # less than min_reward
        (((0, 1.0),), NEVER, 1, 0),
        (((0, None), (0, None)), ALWAYS, None, None),  # no reward at all
    ],
)
def test_a_step_ends_and_the_next_begins(
    two: Oracle, judged: Sequence[tuple[int, float | None]], policy: object, index: int | None, own: int | None
) -> None:
    at = position(two.steps, played(two, *judged), policy, 2)  # type: ignore[arg-type]
    assert (index, own) == (None, None) if at is None else (at.index, len(at.turns)) == (index, own)
    if at is not None:
        assert [turn.number for turn in at.turns] == list(range(1, len(at.turns) + 1))


def test_without_a_threshold_the_next_step_begins_whatever_the_reward(two: Oracle) -> None:
    free = replace(two, steps=tuple(replace(step, least={}) for step in two.steps))
    at = position(free.steps, played(free, (0, 0.25)), NEVER, 10)
    assert at is not None
    assert (at.index, at.turns) == (1, ())


def test_the_mean_of_the_steps_solves_the_task(two: Oracle) -> None:
    first, last = (turn.verdict for turn in played(two, (0, 1.0), (1, 1.0)))
    assert [case.id for case in first.cases] == ["write/reward", "use/not-reached"]
    assert (first.solved, last.solved) == (False, True)
    assert last.scores == {"write/reward": 1.0, "use/reward": 1.0, "reward": 1.0}
    assert verdict_of_step(last, "write").solved
    lower = played(two, (0, 0.5), (1, 1.0))[-1].verdict
    assert (lower.solved, lower.scores["reward"]) == (False, 0.75)
    higher = played(two, (0, 0.5), (1, 1.5))[-1].verdict
    assert (higher.solved, higher.scores["reward"]) == (True, 1.0)


def test_the_last_step_alone_decides_if_the_task_says_so(two: Oracle) -> None:
    final = replace(two, last_decides=True)
    assert played(final, (0, 0.0), (1, 1.0))[-1].verdict.solved
    assert not played(final, (0, 1.0), (1, 0.0))[-1].verdict.solved


def test_a_step_without_a_reward_leaves_the_task_unsolved(two: Oracle) -> None:
    assert not played(two, (0, None), (1, 1.0))[-1].verdict.solved


AGENT = """
from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move


class Listener:
    def __init__(self, context):
        self.seen = 0

    def act(self, brief, feedback, workspace):
        self.seen += 1
        if self.seen == 2:
            workspace.write("double.py", "def double(x):\\n    return x + x\\n")
        if self.seen == 3:
            assert workspace.read("more.txt") == "1\\n2\\n3\\n"
            assert workspace.read("double.py")
        if self.seen == 4:
            workspace.write("doubled.txt", "11\\n22\\n33\\n")
        return Move(steps=1)


LISTENER = AgentKind(make=Listener, needs_model=False)
"""


@pytest.mark.slow
def test_an_episode_goes_through_the_steps_in_one_workspace(pytester: pytest.Pytester) -> None:
    need_docker()
    pytester.makepyfile(listener=AGENT)
    pytester.syspathinsert()
    lay_out(pytester.path / "two", STEPS)
    agents = ("--recode-agent=listener:LISTENER", "--recode-agent=noop", "--recode-agent=reference")
    done = pytester.runpytest_subprocess("two", *PLAIN, *agents, "--recode-turns=2", "--recode-out=out")
    done.assert_outcomes(passed=2, failed=1)
    found = records(pytester)
    assert [len(found[agent]["turns"]) for agent in ("listener:LISTENER", "noop", "reference")] == [4, 2, 2]
    assert found["noop"]["stop"] == "turns"
    record = found["listener:LISTENER"]
    assert (record["outcome"], record["solved_turn"]) == ("solved", 4)
    assert record["turns"][-1]["scores"] == {"write/reward": 1.0, "use/reward": 1.0, "reward": 1.0}
    lines = (pytester.path / "out" / record["transcript"]).read_text("utf-8").splitlines()
    texts = [line["text"] for line in map(json.loads, lines) if line["event"] == "feedback"]
    assert "2 of 3 fail" in texts[0]  # of this step alone
    assert "doubled.txt" not in texts[0]
    assert (
        texts[1]
        == "Step 2 of 2 begins, in the same workspace. Its task:\n\nWrite /app/doubled.txt: each line of more.txt, doubled with double.py."
    )
    assert texts[2].startswith("Step 2 of 2 is not solved. Its task was:\n\nWrite /app/doubled.txt")


@pytest.mark.slow
def test_oracle_and_nop_are_judged_step_by_step(pytester: pytest.Pytester) -> None:
    need_docker()
    lay_out(pytester.path / "two", STEPS)
    pytester.runpytest_subprocess("two", *PLAIN, "--recode-validate").assert_outcomes(passed=2)
    lay_out(pytester.path / "two", {**STEPS, "steps/use/workdir/setup.sh": "exit 3\n"})
    broken = pytester.runpytest_subprocess("two", *PLAIN, "--recode-validate", "-k", "oracle")
    assert "setup.sh of two ended with status 3" in broken.stdout.str()

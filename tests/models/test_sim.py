"""The simulated models: seeded, honest about what they are told, and good agents of the two protocols."""

from __future__ import annotations

import ast
import itertools
import os
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.agents.actions import Action, Step
from pytest_recode.agents.memory import SUMMARISE
from pytest_recode.agents.named_blocks import files_in
from pytest_recode.agents.one_shot import HOW
from pytest_recode.agents.prompt_texts import ROLE
from pytest_recode.agents.text_form import read_text
from pytest_recode.episode import FeedbackItem
from pytest_recode.faults import BudgetSpent, UserError
from pytest_recode.feedback.levels import render
from pytest_recode.models import Message, ModelContext, Usage
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.null_ledger import NullLedger
from pytest_recode.simulated.sim import EXPERT, GRADUATE, NOVICE, SKILLS, SimModel, Skill
from pytest_recode.task import Slot
from pytest_recode.verdict import Case, Outcome, Verdict
from tests.models.sim_example import CLIP, PARTS, STATS, TASK, prompt, sim

ALWAYS_WRONG = Skill(right=0.0, slips=1, repairs=(0.0, 0.0, 0.0, 0.0, 0.0))
SEEDS = [f"seed-{number}" for number in range(40)]


def actions(model: SimModel, **where: object) -> list[Action]:
    step = read_text(model.complete(prompt(**where)).text)  # type: ignore[arg-type]
    assert isinstance(step, Step)
    return list(step.actions)


def turn_of(model: SimModel, turn: int = 1, feedback: str = "", steps: int = 3) -> list[Action]:
    """Everything it does in one turn."""
    done: list[Action] = []
    for step in range(1, steps + 1):
        done += actions(model, step=step, steps=steps, turn=turn, feedback=feedback)
        if done[-1].kind == "submit":
            return done
    return done


def written(done: list[Action]) -> dict[str, str]:
    return {a.arguments["path"]: a.arguments["text"] for a in done if a.kind == "write"}


def told(turn: int, level: int, corrections: dict[str, str]) -> str:
    """A feedback text as the project's own researcher writes it, on interfaces and what to put there."""
    cases = tuple(Case(id=name, interface=name, outcome=Outcome.FAILED) for name in corrections)
    items = [FeedbackItem(interface=name, correction=code) for name, code in corrections.items()]
    return render(Verdict(cases=cases, seed=1), items, level, turn, targets=TASK.targets)


def test_the_same_seed_gives_the_same_run_in_any_process() -> None:
    digests = []
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.models.sim_example"],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.append(done.stdout)
    assert digests[0] == digests[1] != ""


def test_another_seed_gives_another_run() -> None:
    assert len({str(written(turn_of(sim(seed, skill=ALWAYS_WRONG)))) for seed in SEEDS}) > 10


def test_a_first_attempt_breaks_interfaces_and_nothing_else() -> None:
    reference = {"stats.py": ast.parse(STATS), "tools/clip.py": ast.parse(CLIP)}
    for seed in SEEDS:
        texts = written(turn_of(sim(seed, skill=ALWAYS_WRONG)))
        assert list(texts) == ["stats.py", "tools/clip.py"]
        for path, text in texts.items():
            ours, theirs = reference[path].body, ast.parse(text).body
            assert len(ours) == len(theirs)
            for one, other in zip(ours, theirs, strict=True):
                asked = isinstance(one, ast.FunctionDef | ast.ClassDef)
                assert (ast.dump(one) != ast.dump(other)) == asked
        init = ast.parse(texts["stats.py"]).body[-1].body[1]  # type: ignore[attr-defined]
        assert ast.dump(init) == ast.dump(reference["stats.py"].body[-1].body[1])  # type: ignore[attr-defined]


@pytest.mark.slow
def test_skills_differ_in_how_much_is_right_at_once() -> None:
    right = Counter()
    for kind in SKILLS:
        for seed in SEEDS:
            right[kind] += 4 - len(broken(sim(seed, kind=kind)))
    assert right["novice"] < right["graduate"] < right["expert"]


def broken(model: SimModel) -> set[str]:
    """The interfaces whose definition is not the authors' in what it writes first."""
    texts = written(turn_of(model))
    names = set()
    for name in TASK.interfaces:
        target = "tools/clip.py" if name.startswith("tools") else "stats.py"
        last = name.rpartition(".")[2]
        reference, candidate = (definition(text, last) for text in (PARTS.reference[target].decode(), texts[target]))
        if reference != candidate:
            names.add(name)
    return names


def definition(text: str, name: str) -> str:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.unparse(node)
    return ""


@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        (1, [["write", "write", "submit"]]),
        (2, [["run", "run"], ["write", "write", "submit"]]),
        (3, [["run", "run"], ["write", "write", "run"], ["submit"]]),
        (9, [["run", "run"], ["write", "write", "run"], ["submit"]]),
    ],
)
def test_it_works_within_the_steps_it_is_told(steps: int, kinds: list[list[str]]) -> None:
    model = sim()
    done = [[a.kind for a in actions(model, step=step, steps=steps)] for step in range(1, len(kinds) + 1)]
    assert done == kinds


def test_its_command_checks_what_it_wrote(tmp_path: Path) -> None:
    done = turn_of(sim())
    (tmp_path / "tools").mkdir()
    for path, text in written(done).items():
        (tmp_path / path).write_text(text)
    [*_, command] = [a.arguments["command"] for a in done if a.kind == "run"]
    assert subprocess.run(command, shell=True, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "stats.py").write_text("def (")
    assert subprocess.run(command, shell=True, cwd=tmp_path, check=False, capture_output=True).returncode == 1


def test_many_targets_are_written_in_several_answers() -> None:
    names = [f"part_{number}.py" for number in range(14)]
    parts = replace(PARTS, reference=dict.fromkeys(names, b"def f(x):\n    return x + 1\n"))
    task = replace(TASK, targets=tuple(names), interfaces=tuple(f"part_{n}.f" for n in range(14)))
    done = turn_of(sim(task=task, parts=parts), steps=3)
    assert sorted(written(done)) == sorted(names)
    assert done[-1].kind == "submit"


def test_a_correction_is_laid_in_as_it_stands_in_the_feedback() -> None:
    model = sim(skill=ALWAYS_WRONG)
    first = written(turn_of(model))
    code = "def mean(values):\n    return 'as the feedback says'"
    second = written(turn_of(model, 2, told(1, 4, {"stats.mean": code})))
    assert list(second) == ["stats.py"]
    assert definition(second["stats.py"], "mean") == ast.unparse(ast.parse(code))
    assert definition(second["stats.py"], "spread") == definition(first["stats.py"], "spread")
    assert definition(second["stats.py"], "push") == definition(first["stats.py"], "push")


HALF = """\
def half(values):
    if values:
        # TODO: Implement block "the half"
    return 0.0
"""


@pytest.mark.parametrize("indent", ["", " " * 4, " " * 8])
def test_a_correction_of_a_part_is_laid_in_at_its_place_and_depth(indent: str) -> None:
    slot = Slot(path="half.py", start=2, stop=3, indent=" " * 8)
    right = HALF.replace('# TODO: Implement block "the half"', "total = sum(values)\n        return total / 2")
    parts = replace(PARTS, repo={"half.py": HALF.encode()}, reference={"half.py": right.encode()}, slot=slot)
    task = replace(TASK, targets=("half.py",), interfaces=())
    model = sim(task=task, parts=parts, skill=ALWAYS_WRONG)
    first = written(turn_of(model))
    assert first["half.py"] != right
    code = textwrap.indent("total = sum(values)\nreturn total / 2", indent)
    item = FeedbackItem(interface="TestHalf.test_it", correction=code)
    verdict = Verdict(cases=(Case(id="a", interface=item.interface, outcome=Outcome.FAILED),), seed=1)
    second = written(turn_of(model, 2, render(verdict, [item], 4, 1, targets=task.targets)))
    assert second == {"half.py": right}


def test_the_authors_correction_repairs_that_interface() -> None:
    model = sim(skill=ALWAYS_WRONG)
    turn_of(model)
    corrections = {name: definition(STATS, name.rpartition(".")[2]) for name in TASK.interfaces[:3]}
    texts = written(turn_of(model, 2, told(1, 4, corrections)))
    assert ast.dump(ast.parse(texts["stats.py"])) == ast.dump(ast.parse(STATS))


@pytest.mark.parametrize("level", [0, 1, 2, 3, 4])
def test_without_a_correction_in_the_text_there_is_nothing_to_lay_in(level: int) -> None:
    model = sim(skill=ALWAYS_WRONG)
    turn_of(model)
    correction = {} if level == 4 else {"stats.mean": definition(STATS, "mean")}
    feedback = told(1, level, correction or {"stats.mean": ""})
    for turn in range(2, 6):
        done = turn_of(model, turn, feedback.replace("on turn 1", f"on turn {turn - 1}"))
        assert written(done) == {}
        assert [a.kind for a in done] == ["run", "submit"]


def test_repairs_without_a_correction_restore_what_the_feedback_names() -> None:
    sees_all = replace(ALWAYS_WRONG, repairs=(0.0, 1.0, 1.0, 1.0, 1.0))
    model = sim(skill=sees_all)
    assert written(turn_of(model, 1)) != {}
    assert written(turn_of(model, 2, told(1, 0, {"stats.mean": ""}))) == {}
    texts = written(turn_of(model, 3, told(2, 1, {"stats.mean": "", "tools.clip.clip": ""})))
    assert definition(texts["stats.py"], "mean") == definition(STATS, "mean")
    assert definition(texts["stats.py"], "spread") != definition(STATS, "spread")
    assert texts["tools/clip.py"] == CLIP


def test_a_feedback_that_names_nothing_leaves_all_to_chance() -> None:
    model = sim(skill=replace(ALWAYS_WRONG, repairs=(1.0, 0.0, 0.0, 0.0, 0.0)))
    turn_of(model)
    texts = written(turn_of(model, 2, "Feedback on turn 1, level L0.\nhidden tests: 3 of 9 fail.\n"))
    assert texts == {"stats.py": STATS, "tools/clip.py": CLIP}


def test_every_turn_of_feedback_is_worked_on_once() -> None:
    model = sim(skill=replace(ALWAYS_WRONG, repairs=(0.0, 0.5, 0.5, 0.5, 0.5)))
    turn_of(model)
    feedback = told(1, 2, dict.fromkeys(TASK.interfaces, ""))
    answers = {model.complete(prompt(2, 3, 2, feedback)).text for _ in range(5)}
    assert len(answers) == 1


def test_chances_grow_with_level_and_skill() -> None:
    for skill in SKILLS.values():
        assert list(skill.repairs) == sorted(skill.repairs)
    by_skill = [[skill.right, *skill.repairs] for skill in SKILLS.values()]
    for lower, higher in itertools.pairwise(by_skill):
        assert all(one <= other for one, other in zip(lower, higher, strict=True))


def turns_to_solve(kind: str, seed: str) -> int:
    """Under the policy `escalate`, with corrections at L4; 11 for never."""
    model = sim(seed, kind=kind)
    texts = written(turn_of(model))
    for turn in range(1, 11):
        wrong = {
            name: definition(STATS + CLIP, name.rpartition(".")[2])
            for name in TASK.interfaces
            if not any(
                definition(STATS + CLIP, name.rpartition(".")[2]) == definition(t, name.rpartition(".")[2])
                for t in texts.values()
            )
        }
        if not wrong:
            return turn
        texts |= written(turn_of(model, turn + 1, told(turn, min(turn - 1, 4), wrong)))
    return 11


@pytest.mark.slow
def test_how_far_each_skill_comes() -> None:
    turns = {kind: [turns_to_solve(kind, seed) for seed in SEEDS[:20]] for kind in SKILLS}
    assert sum(turn >= 5 for turn in turns["novice"]) >= 14
    assert sum(2 <= turn <= 5 for turn in turns["graduate"]) >= 12
    assert sum(turn <= 3 for turn in turns["expert"]) >= 14


def test_one_call_a_turn_is_answered_with_fences() -> None:
    model = sim(skill=ALWAYS_WRONG)
    asked = [
        Message(role="system", content=ROLE),
        Message(role="user", content=f"the task\n\n{HOW}\n\nThis is turn 1."),
    ]
    first = files_in(model.complete(asked).text, TASK.targets, ())
    assert first.problems == ()
    assert sorted(first.files) == sorted(TASK.targets)
    assert first.files["tools/clip.py"] != CLIP.rstrip()
    feedback = told(1, 4, {"tools.clip.clip": definition(CLIP, "clip")})
    shown = f"# Feedback on turn 1\n\n{feedback}\n\n# Current content of the targets\n\n...\n\n{HOW}"
    second = files_in(model.complete([*asked, Message(role="user", content=shown)]).text, TASK.targets, ())
    assert ast.dump(ast.parse(second.files["tools/clip.py"])) == ast.dump(ast.parse(CLIP))
    assert second.files["stats.py"] == first.files["stats.py"]


def test_a_summary_is_no_turn() -> None:
    model = sim(skill=ALWAYS_WRONG)
    turn_of(model)
    quoted = told(1, 4, {"stats.mean": definition(STATS, "mean")})
    asked = [Message(role="system", content=SUMMARISE), Message(role="user", content=f"# The work since\n\n{quoted}")]
    assert model.complete(asked).text == (
        "Simulated model sim/graduate: wrote and handed in stats.py, tools/clip.py; turn 1 was reached."
    )
    assert list(written(turn_of(model, 2, quoted))) == ["stats.py"]


def test_its_calls_are_counted_and_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    model = sim(ledger=FileLedger(path))
    asked = prompt()
    reply = model.complete(asked)
    characters = sum(len(message.content) for message in asked)
    assert reply.usage.prompt_tokens == -(-characters // 4)
    assert reply.usage.completion_tokens == -(-len(reply.text) // 4)
    assert reply.usage.cost_usd == 0.0
    assert FileLedger(path).total == reply.usage
    FileLedger(path).spent("other", Usage(cost_usd=2.0))
    with pytest.raises(BudgetSpent):
        sim(ledger=FileLedger(path, max_cost=1.0)).complete(asked)


def test_it_says_what_it_is() -> None:
    for kind in (NOVICE, GRADUATE, EXPERT):
        assert kind.offline
        assert kind.needs_reference
    model = sim()
    assert (model.name, model.simulated, model.native_tools) == ("sim/graduate", True, False)
    assert "Simulated model sim/graduate" in model.complete(prompt()).text


def test_it_needs_a_task() -> None:
    context = ModelContext(name="sim/expert", ledger=NullLedger())
    EXPERT.check(context)
    with pytest.raises(UserError) as caught:
        EXPERT.make(context)
    assert str(caught.value) == "model sim/expert needs a task's reference: use it as --recode-model"


def test_it_is_no_researcher() -> None:
    assert sim().complete([Message(role="user", content="analyse")], schema={"type": "object"}).text == "{}"


def test_a_target_that_is_no_python_is_handed_in_as_it_is() -> None:
    parts = replace(PARTS, reference={"data.yaml": b"a: 1\n"})
    task = replace(TASK, targets=("data.yaml",), interfaces=("data",))
    assert written(turn_of(sim(task=task, parts=parts))) == {"data.yaml": "a: 1\n"}


def test_an_interface_that_is_a_whole_module_has_a_function_of_it_broken() -> None:
    task = replace(TASK, interfaces=("stats",))
    for seed in SEEDS[:10]:
        texts = written(turn_of(sim(seed, task=task, skill=ALWAYS_WRONG)))
        ours, theirs = ast.parse(STATS).body, ast.parse(texts["stats.py"]).body
        differ = [one for one, other in zip(ours, theirs, strict=True) if ast.dump(one) != ast.dump(other)]
        assert len(differ) == 1
        assert texts["tools/clip.py"] == CLIP

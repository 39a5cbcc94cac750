"""Verdicts of tasks that have several steps: the verdict on one turn has the cases of all steps, as far as they were judged.

Names of cases and scores begin with the name of their step. The reward of the whole is Harbor's: the mean of the steps' rewards, or the last
one. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_recode.oracle.reward_files import reaches
from pytest_recode.task import Oracle, Task, TaskStep
from pytest_recode.verdict import Case, Outcome, Verdict

_NOT_REACHED = "not-reached"


def task_of(task: Task, step: TaskStep) -> Task:
    """A step as a task that has no others."""
    return replace(
        task,
        load=step.load,
        targets=step.targets,
        oracle=Oracle(isolation=task.oracle.isolation, verifier=step.verifier),
        limits=replace(task.limits, test_seconds=step.test_seconds),
    )


def joined(oracle: Oracle, index: int, own: Verdict, earlier: Verdict | None) -> Verdict:
    """The verdict on a turn of step `index`. `own`: that step's; `earlier`: on the turn before, of the same step or an earlier one."""
    names = [step.name for step in oracle.steps]
    name, passed_steps = names[index], names[:index]
    verdicts = {before: verdict_of_step(earlier, before) for before in passed_steps if earlier is not None} | {
        name: own
    }
    reward = reward_of(oracle, [verdicts[step].scores for step in names[: index + 1]])
    last = index + 1 == len(names)
    solved = last and _solves(oracle, verdicts, reward)
    cases = [_prefixed(step, case) for step in verdicts for case in verdicts[step].cases]
    if solved:
        cases = [case for case in cases if case.outcome is Outcome.PASSED]
    elif all(case.outcome is Outcome.PASSED for case in cases):
        shown = ", ".join(f"{key} {value:g}" for key, value in reward.items())
        cases += [_failed(name, "reward", f"of all steps: {shown}")] if last else []
    return replace(
        own,
        cases=(*cases, *(_failed(step, _NOT_REACHED, "the step has not begun") for step in names[index + 1 :])),
        scores={f"{step}/{key}": value for step in verdicts for key, value in verdicts[step].scores.items()} | reward,
        tampering=tuple(f"{step}/{finding}" for step in verdicts for finding in verdicts[step].tampering),
    )


def verdict_of_step(verdict: Verdict, name: str) -> Verdict:
    """The part of a verdict that is about the step `name`, as its own verifier had it."""
    start = f"{name}/"
    return replace(
        verdict,
        cases=tuple(
            replace(case, id=case.id.removeprefix(start), interface=case.interface.removeprefix(start))
            for case in verdict.cases
            if case.id.startswith(start)
        ),
        scores={key.removeprefix(start): value for key, value in verdict.scores.items() if key.startswith(start)},
        tampering=tuple(text.removeprefix(start) for text in verdict.tampering if text.startswith(start)),
    )


def judged_step(steps: Sequence[TaskStep], verdict: Verdict) -> int:
    """The index of the step on whose turn this is the verdict."""
    ids = {case.id for case in verdict.cases}
    return max((at for at, step in enumerate(steps) if f"{step.name}/{_NOT_REACHED}" not in ids), default=0)


def next_begins(step: TaskStep, own: Verdict) -> bool:
    """Whether the step after this one begins: it has a reward, and the least that the task asks for. Missing values are too little."""
    return bool(own.scores) and all(own.scores.get(key, -1e308) >= least for key, least in step.least.items())


def reward_of(oracle: Oracle, rewards: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The rewards of a task from those of its steps so far: the last step's, or means in which a missing key counts as 0."""
    if oracle.last_decides:
        return dict(rewards[-1])
    judged = [values for values in rewards if values]
    keys = dict.fromkeys(key for values in judged for key in values)
    return {key: sum(values.get(key, 0.0) for values in judged) / len(judged) for key in keys}


def _solves(oracle: Oracle, verdicts: Mapping[str, Verdict], reward: Mapping[str, float]) -> bool:
    deciding = list(verdicts.values())[-1:] if oracle.last_decides else list(verdicts.values())
    if not all(verdict.scores for verdict in deciding):
        return False  # one exceeded its time, or was ended
    return reaches(reward, oracle.steps[-1].verifier.threshold)


def _prefixed(step: str, case: Case) -> Case:
    return replace(case, id=f"{step}/{case.id}", interface=f"{step}/{case.interface}")


def _failed(step: str, name: str, message: str) -> Case:
    return Case(id=f"{step}/{name}", interface=f"{step}/{name}", outcome=Outcome.FAILED, message=message)

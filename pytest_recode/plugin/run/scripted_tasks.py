"""Which agents and models can play tasks that a script of their own judges. Called before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_recode.faults import UserError
from pytest_recode.task import WHOLE
from pytest_recode.wording import some_of

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run

_MOST_TASKS = 3


def check(run: Run) -> None:
    """Raise `UserError` for an agent that writes targets, if a task names none, and for a model that changes the reference's code."""
    for name, owns in run.collected.by_format.items():
        tasks = [task for task in run.collected.scripted if task.format == name]
        every = [task.id for task in tasks]
        without = [task.id for task in tasks if WHOLE in task.targets]
        for own in owns:
            if without and run.registry.agent(own.agent).needs_targets:
                raise UserError(
                    f"--recode-agent={own.agent} writes the files that a task names, and these name none, because every file may be the answer:"
                    f" {some_of(without, _MOST_TASKS)}. Choose another agent, such as --recode-agent=recode, or other tasks with -k"
                )
            for model in own.models:
                if every and run.registry.model(model).needs_reference:
                    raise UserError(
                        f"{model} makes its answers from the reference's code, and a script makes the answer of these tasks:"
                        f" {some_of(every, _MOST_TASKS)}. Run the script with --recode-agent=reference, name a real model, or choose other tasks with -k"
                    )

"""The table `tasks`: the solved share of each task with each feedback policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from pytest_recode.metrics.by_task import TaskShares, by_task, policies
from pytest_recode.render.report_table import Column, Rows, Table, columns, identities, identity, percent
from pytest_recode.wording import some_of


def tables(rows: Rows) -> dict[str, Callable[[], Table | None]]:
    """The function that creates the table of rows of runs (not of published results), by name."""
    return {"tasks": lambda: _tasks(rows)} if rows else {}


def _tasks(rows: Rows) -> Table:
    shares, names = by_task(rows), policies(rows)
    return Table(
        name="tasks",
        title="Tasks: solved share with each feedback policy, in per cent of the attempts",
        columns=(
            # Rows of one model have more space for policies
            *(replace(column, fold=True) for column in identities(rows) if column.key != "feedback"),
            Column(key="task", head="task"),
            *(Column(key=f"solved_{name}", head=name, kind="percent") for name in names),
            *columns("count", played="of", errors="errors"),
        ),
        rows=tuple(
            {
                **identity(one.row),
                "task": one.task,
                **{f"solved_{name}": percent(one.solved.get(name)) for name in names},
                "played": one.played,
                "errors": one.errors,
            }
            for one in shares
        ),
        notes=("of: played attempts with all policies together", *_flat(shares)),
    )


def _flat(shares: list[TaskShares]) -> Iterator[str]:
    """For each model, and each agent if there are several, the tasks on which its policies had the same result."""
    models = dict.fromkeys((one.row.model, one.row.agent) for one in shares)
    for model, agent in models:
        of_both = [one for one in shares if (one.row.model, one.row.agent) == (model, agent)]
        flat = [one.task for one in of_both if one.flat]
        several = sum(len(one.solved) > 1 for one in of_both)
        name = model if sum(model == each for each, _ in models) == 1 else f"{model} ({agent})"
        if flat:
            yield f"the policies make no difference to {name} on {len(flat)} of {several} tasks: {some_of(flat, 5)}"

"""With pytest-xdist: the controller checks the run once and tells its workers what it decided."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.plugin import RUN, options, run_of

if TYPE_CHECKING:
    from pytest_recode.plugin.session import Run
    from pytest_recode.task import Environment

OURS = re.compile(r"(::|/)(episode|replay|validate)\[")
"""The controller collects nothing itself: it knows items by their ids."""


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Controller: where nothing was said of it, each worker gets neighbouring items, and takes over from others when it is done.

    Items of one task, or of one paper, share a warm judge. Handed out one by one, every worker would come to need all of them.
    """
    given = config.known_args_namespace  # xdist has its own default in `option` by now
    if given.dist != "no" or given.distload or not options.given(config) or run_of(config).asks:
        return None
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    return WorkStealingScheduling(config, log)


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Controller: what the user named on the command line is checked before any worker starts."""
    if config.getoption("recode_model") and not config.option.collectonly:
        from pytest_recode.plugin import preflight

        preflight.check_models(run_of(config))


def pytest_configure_node(node: Any) -> None:
    """Controller: name the run and its directory to a worker."""
    if options.given(node.config):
        run = run_of(node.config)
        node.workerinput["recode_run"] = run.id
        node.workerinput["recode_out"] = str(run.out)


def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Controller: the first worker has collected. Nothing has been spent yet."""
    config: pytest.Config = node.config
    ours = [nodeid for nodeid in ids if OURS.search(nodeid)]
    if RUN in config.stash and ours:
        run = config.stash[RUN]
        run.collected.ids = frozenset(ours)
        first = not run.collected.by_format
        run.collected.environments = _environments(run, ours)  # fills in the rest of `collected`
        from pytest_recode.plugin import preflight

        preflight.prepare(run)
        if first:
            from pytest_recode.plugin import summary  # a session without tasks loads none of it

            for line in summary.played_how(run):
                run.notify(line.removeprefix("recode: "))


def speaks(config: pytest.Config) -> bool:
    """Whether this process tells what collection finds: of the workers, which all collect the same, the first does."""
    worker = getattr(config, "workerinput", None)
    return worker is None or worker["workerid"] == "gw0"


def stop(config: pytest.Config, reason: str) -> bool:
    """Controller: hand out no more items and end once every worker has. False where pytest-xdist does not run the session."""
    session: Any = config.pluginmanager.get_plugin("dsession")
    if session is None:
        return False
    session.shouldstop = reason
    return True


def _environments(run: Run, ids: Sequence[str]) -> dict[Environment, list[str]]:
    """Of the tasks that the workers' items are of, with their ids: their manifests are read again, as the items stay over there."""
    from pytest_recode.faults import UserError
    from pytest_recode.plugin.environments import placed

    wanted: dict[str, set[str]] = {}
    for nodeid in ids:
        manifest, _, name = nodeid.partition("::")
        found = OURS.search(f"/{name}")
        of = name[: max(found.start() - 1, 0)] if found is not None else ""
        wanted.setdefault(manifest, set()).add(of)
    environments: dict[Environment, list[str]] = {}
    for path, tasks in ((path, tasks) for name, tasks in wanted.items() for path in _manifests(run.config, name)):
        task_format = run.registry.format(path.name)
        if task_format is None:
            continue
        try:
            run.settings_for(task_format)
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
        for task in task_format.load(path):
            if task_format.single or task.id in tasks:
                environment = placed(task.environment, run.settings.environments)
                environments.setdefault(environment, []).append(task.id)
                run.collected.tasks[task.id] = path
    return environments


def _manifests(config: pytest.Config, name: str) -> Iterator[Path]:
    """The files that a node id may begin with: its path counts from the root or, beyond that, from what pytest was given."""
    given = (config.invocation_params.dir / arg.partition("::")[0] for arg in config.args)
    for base in dict.fromkeys(os.path.normpath(each) for each in (config.rootpath, *given)):
        if (path := Path(base, name)).is_file():
            yield path

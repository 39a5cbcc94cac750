"""With pytest-xdist: the controller checks the run once, and sends its decisions to the workers."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.plugin import options

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.task import Task

TASK_ITEM = re.compile(r"(::|/)(episode|replay|validate)\[")
"""The controller collects nothing itself: it knows items by their ids."""
EPISODE = re.compile(r"(::|/)(episode|replay)\[")


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Controller: by default, each worker gets consecutive items, and takes over items of others when it has finished.

    Items of one task, or of one paper, share a warm judge. If items were distributed in turn, every worker would need all judges.
    """
    arguments = config.known_args_namespace  # `option` already has xdist's default
    if arguments.dist != "no" or arguments.distload or not options.given(config):
        return None
    from pytest_recode.plugin.run.session import run_of

    if run_of(config).skip_reason:
        return None
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(trylast=True)  # another plugin may choose the interpreter
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[Any]) -> None:
    """Controller: prepare connections to other hosts, and start the workers of this machine without API keys, if only the gateway calls models."""
    if not options.given(config):
        return
    from pytest_recode.plugin.run.session import run_of

    run = run_of(config)
    if not all(spec.popen and not spec.chdir for spec in specs):
        from pytest_recode.plugin.workers import other_hosts

        other_hosts.prepare(config)
    if any(spec.via for spec in specs):
        from pytest_recode.plugin.workers import other_hosts

        other_hosts.check_proxies(config, specs)
    if run.gateway is None:
        return
    from pytest_recode.plugin.run import casting

    if not casting.only_gateway_calls(run.settings, run.registry):
        return
    own = {entry.get("api_key_env") for entry in casting.model_table(run.settings).values()}
    without = [f"-u {shlex.quote(name)}" for name in os.environ if name in own or name.upper().endswith("_API_KEY")]
    for spec in specs:
        if spec.popen and without:
            spec.python = " ".join(["env", *without, spec.python or shlex.quote(sys.executable)])


def pytest_configure_node(node: Any) -> None:
    """Controller: send the id and directory of the run to a worker, and to one that may be on another host, a way to reach them."""
    if options.given(node.config):
        from pytest_recode.plugin.run.session import run_of

        run = run_of(node.config)
        node.workerinput["recode_run"] = run.id
        node.workerinput["recode_out"] = str(run.out)
        if run.gateway is not None:
            node.workerinput["recode_gateway"] = asdict(run.gateway)
        from pytest_recode.plugin.workers import other_hosts  # not imported in a session without tasks

        if _only_collects(node):
            return
        if not other_hosts.may_be_elsewhere(node.gateway.spec):
            node.workerinput["recode_launches"] = asdict(run.launches.address)
            pid = node.gateway.remote_exec("import os; channel.send(os.getpid())").receive()
            run.stopped_processes.add(f"worker {node.gateway.id}", lambda: pid)
        elif not run.settings.validate:
            other_hosts.connect(node, run)


def _only_collects(node: Any) -> bool:
    only: bool = node.config.option.collectonly
    return only


def pytest_testnodedown(node: Any, error: object) -> None:
    """Controller: a worker has ended; it has sent how busy it was. If it ended by an error, pytest-xdist starts it again."""
    config = node.config
    if not options.given(config):
        return
    if error is None:
        from pytest_recode.plugin.workers import worker_use

        worker_use.add(node)
        return
    from pytest_recode.plugin.run.session import run_of
    from pytest_recode.plugin.workers import other_hosts

    if other_hosts.may_be_elsewhere(node.gateway.spec):
        other_hosts.keep_going(config.pluginmanager.get_plugin("dsession"), node, run_of(config), error)


def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Controller: the first worker has collected, and no model has been called yet."""
    config: pytest.Config = node.config
    nodeids = [nodeid for nodeid in ids if TASK_ITEM.search(nodeid)]
    elsewhere = hasattr(node, "recode_forward")
    if elsewhere:
        from pytest_recode.plugin.workers import other_hosts

        other_hosts.compare_collections(node, nodeids)
    if not nodeids:
        return
    from pytest_recode.plugin.run.session import RUN

    if RUN in config.stash:
        run = config.stash[RUN]
        run.collected.ids = frozenset(nodeids)
        first = not run.collected.by_format
        tasks = list(_tasks(run, nodeids))
        run.collected.select(_placed(run, tasks))  # fills in the rest of `collected`
        if elsewhere:
            other_hosts.compare_tasks(node, (task for _, task in tasks))
        from pytest_recode.plugin.run import preflight

        preflight.prepare(run)
        if first:
            from pytest_recode.plugin.reports import summary  # not imported in a session without tasks

            for line in summary.played_how(run):
                run.notify(line.removeprefix("recode: "))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist tells the controller that this worker has collected
def pytest_collection_finish(session: pytest.Session) -> None:
    """Worker on another host: send the digests of its tasks to the controller, if that asked for them."""
    channel = getattr(session.config, "workerinput", {}).get("recode_digests")
    if channel is not None:
        from pytest_recode.plugin.workers import other_hosts

        other_hosts.send_digests(channel, session.items)


def speaks(config: pytest.Config) -> bool:
    """Whether this process reports the findings of collection. All workers collect the same, so only the first one reports."""
    worker = getattr(config, "workerinput", None)
    return worker is None or worker["workerid"] == "gw0"


def stop(config: pytest.Config, reason: str) -> bool:
    """Controller: distribute no more items, and end when every worker has ended. False if pytest-xdist does not run the session."""
    session: Any = config.pluginmanager.get_plugin("dsession")
    if session is None:
        return False
    session.shouldstop = reason
    return True


def _placed(run: Run, tasks: Iterable[tuple[Path, Task]]) -> Iterator[Task]:
    """The tasks with the environments that this run has for them."""
    from pytest_recode.plugin.run.environments import placed

    for path, task in tasks:
        run.collected.tasks[task.id] = path
        yield replace(task, environment=placed(task.environment, run.settings.environments))


def _tasks(run: Run, ids: Sequence[str]) -> Iterator[tuple[Path, Task]]:
    """The tasks of these items, with their manifests. Reads the manifests again, because the controller has no items."""
    from pytest_recode.faults import UserError

    tasks_of: dict[str, set[str]] = {}
    for nodeid in ids:
        manifest, _, name = nodeid.partition("::")
        item = TASK_ITEM.search(f"/{name}")
        of = name[: max(item.start() - 1, 0)] if item is not None else ""
        tasks_of.setdefault(manifest, set()).add(of)
    for path, tasks in ((path, tasks) for name, tasks in tasks_of.items() for path in _manifests(run.config, name)):
        task_format = run.registry.format(path.name)
        if task_format is None:
            continue
        try:
            run.settings_for(task_format)
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
        loaded = task_format.load(path)
        if run.settings.shard is not None:
            from pytest_recode.plugin.collection import sharding

            sharding.listed(run, task_format, path, loaded)
        yield from ((path, task) for task in loaded if task_format.single or task.id in tasks)


def _manifests(config: pytest.Config, name: str) -> Iterator[Path]:
    """The files that the path of a node id may refer to: relative to the root directory or, outside of it, to an argument of pytest."""
    given = (config.invocation_params.dir / arg.partition("::")[0] for arg in config.args)
    for base in dict.fromkeys(os.path.normpath(each) for each in (config.rootpath, *given)):
        if (path := Path(base, name)).is_file():
            yield path

"""The plugin: the only package that imports pytest.

Its import is cheap, and a session without tasks imports nothing more: hooks import heavier modules when they need them.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.plugin import options

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run

RUN = pytest.StashKey["Run"]()

MARKER = (
    "recode(task, domain, difficulty, subset, format, model, feedback, attempt, and further values from the task's format): "
    "an episode of a research-code task; "
    "select with -m recode or -m \"recode(domain='nlp')\""
)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_recode.plugin import hookspecs
    from pytest_recode.plugin.collection import defaults

    pluginmanager.add_hookspecs(hookspecs)
    pluginmanager.register(defaults, "recode-defaults")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    """Keep pytest from loading conftest.py files of tasks: they must not run in this process. Then check the names of options."""
    from pytest_recode.plugin.collection import task_code

    here = early_config.invocation_params.dir
    given = [str(arg).partition("::")[0] for arg in early_config.invocation_params.args]
    paths = [here, *(here / arg for arg in given if arg and not arg.startswith("-"))]
    paths += [early_config.rootpath / path for path in early_config.getini("testpaths")]
    tasks = task_code.directories(early_config, [path for path in paths if path.exists()])
    with task_code.not_run(tasks):
        yield
    if any(here.resolve().is_relative_to(task) for task in tasks):
        # `python -m pytest` in a task puts the task on the path, where its files could replace any library
        sys.path[:] = [path for path in sys.path if path not in ("", ".", str(here))]
    options.check_names(parser, args)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Keep pytest from loading conftest.py files of task directories that it reaches during collection."""
    if not getattr(collector, "of_tasks", False):
        return (yield)
    from pytest_recode.plugin.collection import task_code

    with task_code.not_run(task_code.directories(collector.config, [collector.path])):
        return (yield)


@pytest.hookimpl(tryfirst=True)  # before pytest creates its terminal reporter, which keeps its output
def pytest_configure(config: pytest.Config) -> None:
    if config.inipath is not None and config.getoption("inifilename", None) is None:
        from pytest_recode.plugin.collection import task_code

        if config.inipath.parent.resolve() in task_code.directories(config, [config.inipath.parent]):
            raise pytest.UsageError(
                f"{config.inipath}: is in a task's directory. A task must not configure pytest, because that can run any"
                f" program: remove the file, or name a configuration yourself with -c FILE"
            )
    config.addinivalue_line("markers", MARKER)
    if options.given(config):
        from pytest_recode.plugin.run import preflight

        preflight.check_options(run_of(config))
        if not hasattr(config, "workerinput"):
            from pytest_recode.plugin.reports import live_traces, progress, validation_file

            progress.watch(run_of(config))
            live_traces.watch(run_of(config))
            validation_file.watch(run_of(config))
        preflight.start_gateway(run_of(config))
    if config.getoption("htmlpath", None):
        from pytest_recode.plugin.reports.html_report import HtmlReport

        config.pluginmanager.register(HtmlReport(config), "recode-html-report")
    if config.getoption("allure_report_dir", None):
        from pytest_recode.plugin.reports.allure_report import AllureReport

        config.pluginmanager.register(AllureReport(config), "recode-allure-report")
    if config.pluginmanager.hasplugin("xdist"):
        from pytest_recode.plugin.workers import distributed

        config.pluginmanager.register(distributed, "recode-distributed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Choose the scheduler. Defined here, so that hooks of a conftest.py run first, and xdist's default follows."""
    from pytest_recode.plugin.workers import distributed

    return distributed.scheduler(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Report a Ctrl-C that arrives while pytest ends the session after an earlier one: pytest has ended it, and would show a traceback."""
    try:
        return (yield)
    except KeyboardInterrupt:
        run = config.stash.get(RUN, None)
        if run is None or run.worker is not None:
            raise
        line = f"recode: Ctrl-C again while the run was ending: its summary may be incomplete; what it recorded is in {run.out}"
        print(line, file=sys.stderr)
        return pytest.ExitCode.INTERRUPTED


@pytest.hookimpl(specname="pytest_cmdline_main", tryfirst=True)
def pytest_watch(config: pytest.Config) -> int | None:
    """With `--recode-watch`, the session is others' sessions, one after each change."""
    if not options.watches(config):
        return None
    from pytest_recode.plugin.collection import watching

    return watching.watch(run_of(config))


def run_of(config: pytest.Config) -> Run:
    """This session's Run, created at first access."""
    if RUN not in config.stash:
        from pytest_recode.plugin.collection import reruns
        from pytest_recode.plugin.reports.failure_blocks import FailureBlocks
        from pytest_recode.plugin.reports.report import Reporter
        from pytest_recode.plugin.run import limits
        from pytest_recode.plugin.run.session import Run
        from pytest_recode.stopping import await_children

        await_children()
        config.stash[RUN] = run = Run(config)
        config.pluginmanager.register(reruns, reruns.NAME)
        config.pluginmanager.register(
            Reporter(run), "recode-reporter"
        )  # plugins that are registered later are called first
        config.pluginmanager.register(limits, "recode-limits")
        if run.worker is None:
            config.pluginmanager.register(FailureBlocks(run), "recode-failure-blocks")
        if run.settings.shard is not None:
            from pytest_recode.plugin.collection.sharding import ShardSelection

            config.pluginmanager.register(ShardSelection(run, run.settings.shard), "recode-shard")
    return config.stash[RUN]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a directory that contains a manifest only through the manifest."""
    manifest = _manifest(parent.config, path)
    if manifest is not None:
        from pytest_recode.plugin.collection.collect import TaskDirectory

        claimed: pytest.Collector = TaskDirectory.from_parent(parent, path=path, manifest=manifest)
        return claimed
    if isinstance(parent, pytest.Session):
        # collection reaches every directory below the root directory, but not the parents of the root
        for above in path.parents:
            manifest = _manifest(parent.config, above)
            if manifest is not None:
                from pytest_recode.plugin.collection.collect import belongs

                return belongs(parent, path, above / manifest)
    return None


def _manifest(config: pytest.Config, directory: Path) -> str | None:
    """The name of the manifest that claims a directory."""
    if _MANIFESTS not in config.stash:
        offers = config.hook.pytest_recode_formats()
        config.stash[_MANIFESTS] = tuple(dict.fromkeys(name for offer in offers for name in offer))
    return next((name for name in config.stash[_MANIFESTS] if (directory / name).is_file()), None)


_MANIFESTS = pytest.StashKey[tuple[str, ...]]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Check the requirements of the run, once there are items to run, and before the first model call."""
    config = session.config
    # If -k or -m is invalid, pytest calls this with every item before it exits
    wrong = sys.exc_info()[0] is not None
    if RUN in config.stash and not wrong and not hasattr(config, "workerinput"):
        from pytest_recode.plugin.collection.collect import is_ours

        run = config.stash[RUN]
        run.collected.ids = frozenset(item.nodeid for item in session.items if is_ours(item))
        if run.collected.ids and not config.option.collectonly:
            from pytest_recode.plugin.run import preflight

            preflight.prepare(run)


def pytest_unconfigure(config: pytest.Config) -> None:
    run: Any = config.stash.get(RUN, None)
    if run is not None:
        run.close()

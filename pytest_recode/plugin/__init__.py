"""The plugin: the only package that imports pytest.

Its import is cheap, and a session without tasks imports nothing more: hooks import heavier modules when they need them.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.plugin import options

MARKER = (
    "recode(task, domain, difficulty, subset, format, agent, model, feedback, attempt, and further values from the task's format): "
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
    options.check_ini_names(early_config)


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
        from pytest_recode.plugin.run.opening import open_run

        run = open_run(config)
        preflight.check_options(run)
        if run.worker is None:
            from pytest_recode.plugin.reports import live_traces, progress, validation_file

            progress.watch(run)
            live_traces.watch(run)
            validation_file.watch(run)
        preflight.start_gateway(run)
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
        from pytest_recode.plugin.run.session import RUN

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
    from pytest_recode.plugin.run.opening import open_run

    return watching.watch(open_run(config))


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a directory that contains a manifest only through the manifest."""
    manifest = _manifest(parent.config, path)
    if manifest is not None:
        from pytest_recode.plugin.collection.collect import TaskDirectory
        from pytest_recode.plugin.run.opening import open_run

        open_run(parent.config)
        claimed: pytest.Collector = TaskDirectory.from_parent(parent, path=path, manifest=manifest)
        return claimed
    if isinstance(parent, pytest.Session):
        # collection reaches every directory below the root directory, but not the parents of the root
        for above in path.parents:
            manifest = _manifest(parent.config, above)
            if manifest is not None:
                from pytest_recode.plugin.collection.collect import belongs
                from pytest_recode.plugin.run.opening import open_run

                open_run(parent.config)
                return belongs(parent, path, above / manifest)
    return None


def _manifest(config: pytest.Config, directory: Path) -> str | None:
    """The name of the manifest that claims a directory."""
    if _MANIFESTS not in config.stash:
        from pytest_recode.plugin.collection.offers import manifests

        config.stash[_MANIFESTS] = manifests(config.pluginmanager)
    names = [name for name in config.stash[_MANIFESTS] if (directory / name).is_file()]
    if not names:
        return None
    from pytest_recode.plugin.collection.task_code import claimed_in

    return next((name for name in names if claimed_in(config, directory / name)), None)


_MANIFESTS = pytest.StashKey[tuple[str, ...]]()

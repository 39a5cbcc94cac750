"""The plugin: the only room that speaks pytest.

Importing it costs next to nothing, and a session without tasks imports nothing more: whatever is heavier is imported inside
the hook that needs it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.plugin import options

if TYPE_CHECKING:
    from pytest_recode.plugin.session import Run

RUN = pytest.StashKey["Run"]()

MARKER = (
    "recode(task, domain, difficulty, format, model, feedback, attempt, and what the task's format knows of it): "
    "an episode of a research-code task; "
    "select with -m recode or -m \"recode(domain='nlp')\""
)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_recode.plugin import defaults, hookspecs

    pluginmanager.add_hookspecs(hookspecs)
    pluginmanager.register(defaults, "recode-defaults")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if options.given(config):
        run_of(config).check_options()
    if config.pluginmanager.hasplugin("xdist"):
        from pytest_recode.plugin import distributed

        config.pluginmanager.register(distributed, "recode-distributed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Here, and not with the others: what a conftest.py wants comes before it, xdist's own choice after it."""
    from pytest_recode.plugin import distributed

    return distributed.scheduler(config, log)


def run_of(config: pytest.Config) -> Run:
    """This session's Run, made when something first needs it."""
    if RUN not in config.stash:
        from pytest_recode.plugin.report import Reporter
        from pytest_recode.plugin.session import Run

        config.stash[RUN] = run = Run(config)
        config.pluginmanager.register(Reporter(run), "recode-reporter")
    return config.stash[RUN]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A directory with a manifest is claimed: what lies in it is collected through the manifest and in no other way."""
    manifest = _manifest(parent.config, path)
    if manifest is not None:
        from pytest_recode.plugin.collect import TaskDirectory

        claimed: pytest.Collector = TaskDirectory.from_parent(parent, path=path, manifest=manifest)
        return claimed
    if isinstance(parent, pytest.Session):
        # below a root directory every directory is met on the way down; that which the root itself lies in is not
        for above in path.parents:
            manifest = _manifest(parent.config, above)
            if manifest is not None:
                from pytest_recode.plugin.collect import belongs

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
    """What the run needs is checked once it is known that there is something to run, and before anything is spent."""
    config = session.config
    # Where -k or -m cannot be read pytest comes here with every item, on its way out
    wrong = sys.exc_info()[0] is not None
    if RUN in config.stash and not wrong and not hasattr(config, "workerinput"):
        from pytest_recode.plugin.collect import is_ours

        run = config.stash[RUN]
        run.ids = frozenset(item.nodeid for item in session.items if is_ours(item))
        if run.ids and not config.option.collectonly:
            run.prepare()


def pytest_unconfigure(config: pytest.Config) -> None:
    run: Any = config.stash.get(RUN, None)
    if run is not None:
        run.close()

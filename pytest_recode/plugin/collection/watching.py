"""`--recode-watch`: validates tasks again whenever one of their files changes, until Ctrl-C. Each validation is a pytest process of its own."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.formats.files import is_of_a_tool
from pytest_recode.plugin.collection.offers import manifests
from pytest_recode.verdict import legible
from pytest_recode.wording import some_of

if TYPE_CHECKING:
    from watchfiles import Change, DefaultFilter

    from pytest_recode.plugin.run.session import Run

_STARTED = "PYTEST_RECODE_WATCHED"  # in the environment of the processes that validate
_MOMENT = 1.0
"""Seconds for a validation that is about to end anyway."""
_ENDING = 30.0
"""Seconds that a validation may take to end after a file has changed."""
_MOST_SHOWN = 5
_OF_VIM = "4913"
"""A file that Vim creates and removes before it writes another."""
_DEBOUNCE = 400
"""Milliseconds in which further changes belong to the same one: editors write several files at once."""


def watch(run: Run) -> int | None:
    """Validate until Ctrl-C. Returns the exit status; None if this process is one of those that validate, or only collects.

    Raises `pytest.UsageError`.
    """
    config = run.config
    if not run.settings.watch or config.option.collectonly or _STARTED in os.environ:
        return None
    if importlib.util.find_spec("watchfiles") is None:
        raise pytest.UsageError(
            "--recode-watch needs an extra: pip install 'pytest-recode[watch]', or leave it out and repeat the command"
        )
    from watchfiles import DefaultFilter

    paths = [path for arg in config.args if (path := Path(arg.partition("::")[0])).exists()]
    if not paths:
        raise pytest.UsageError(
            f"--recode-watch: none of these exists: {', '.join(config.args)}; name a task directory"
        )
    names = manifests(config.pluginmanager)
    command = [sys.executable, "-m", "pytest", *map(str, config.invocation_params.args)]
    return _repeat(command, config.invocation_params.dir, paths, partial(_is_of_a_task, DefaultFilter(), names))


def _is_of_a_task(files_of_people: DefaultFilter, manifests: Collection[str], change: Change, path: str) -> bool:
    if Path(path).name == _OF_VIM or is_of_a_tool(Path(path).name):
        return False
    return files_of_people(change, path) and any(
        (directory / name).is_file() for directory in Path(path).parents for name in manifests
    )


def _repeat(
    command: list[str],
    here: Path,
    paths: list[Path],
    of_a_task: Callable[[Change, str], bool],
) -> int:
    """Run `command` in `here` now, and from the start again after each change below `paths`. Ctrl-C ends it."""
    import watchfiles

    environ = {**os.environ, _STARTED: "1"}
    process = _start(command, here, environ)
    try:
        for changes in watchfiles.watch(*paths, watch_filter=of_a_task, debounce=_DEBOUNCE):
            _end(process)
            changed = sorted({os.path.relpath(path, here) for _, path in changes})
            line = f"recode: changed: {some_of(changed, _MOST_SHOWN)}; validating again (Ctrl-C ends)"
            print(legible(line, keep=""), flush=True)
            process = _start(command, here, environ)
    except KeyboardInterrupt:
        process.wait()  # the terminal sends Ctrl-C to it, too
    return pytest.ExitCode.INTERRUPTED


def _start(command: list[str], here: Path, environ: Mapping[str, str]) -> subprocess.Popen[Any]:
    return subprocess.Popen(command, cwd=here, env=environ)


def _end(process: subprocess.Popen[Any]) -> None:
    """End a validation whose task has changed in the meantime, in order: it removes its sandboxes."""
    for number, seconds in ((None, _MOMENT), (signal.SIGINT, _ENDING), (signal.SIGKILL, None)):
        if number is not None:
            process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return

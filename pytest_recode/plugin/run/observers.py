"""Call the hooks that only observe the run. An exception of one of others is a warning, because the turn or the episode is paid for."""

from __future__ import annotations

import logging
import traceback
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import raised

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run

LOG = logging.getLogger("pytest_recode")
_PACKAGE = Path(__file__).parents[2]
_FAILED = pytest.StashKey[set[str]]()


def observe(run: Run, name: str, **arguments: Any) -> None:
    """Call a hook. Warns once if it raises. What the project's own raise is raised again."""
    try:
        getattr(run.config.hook, name)(**arguments)
    except Exception as error:
        if _own(error):
            raise
        failed = run.config.stash.setdefault(_FAILED, set())
        if name not in failed:
            failed.add(name)
            LOG.warning("the hook %s raised %s: the run goes on without what this hook does", name, raised(error))


def _own(error: Exception) -> bool:
    """Whether the function that pluggy called is one of this project."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    called = [
        after
        for before, after in pairwise(files)
        if "pluggy" in Path(before).parts and "pluggy" not in Path(after).parts
    ]
    return bool(called) and Path(called[-1]).is_relative_to(_PACKAGE)

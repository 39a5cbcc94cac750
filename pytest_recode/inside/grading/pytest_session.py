"""Runs pytest over hidden tests without this machine's configuration.

Runs in the graders' processes. Called by `separate_grader/main.py` and the pytest runners of the shared judge. Must
not load plugins or configuration files that are not the task's.

Stdlib and pytest, Python 3.9+.
"""

from __future__ import annotations

import hashlib
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import copied, equivalence, unmodified

_ARGUMENTS = [
    *("-p", "no:cacheprovider", "-p", "no:debugging", "-p", "no:doctest", "-p", "no:faulthandler", "-p", "no:junitxml"),
    *("-p", "no:logging", "-p", "no:nose", "-p", "no:pastebin", "-p", "no:setuponly", "-p", "no:setupplan"),
    *("-p", "no:stepwise", "-p", "no:threadexception", "-p", "no:unraisableexception", "-p", "no:legacypath"),
    *("-p", "no:capture", "-p", "no:warnings"),
    *("-q", "--tb=long", "--import-mode=prepend", "--strict-markers"),
]

Equivalent = Callable[..., None]
EQUIVALENT: Equivalent = equivalence.assert_equivalent


def run(root: Path, tests: Path, plugins: list[Any], *more: str, equivalent: Equivalent = EQUIVALENT) -> None:
    """Run pytest on `tests`, a file or directory below `root`.

    `more`: further arguments of pytest; `equivalent`: what the tests import as `assert_equivalent`.
    """
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    _offer_testing(equivalent)
    places = ["-c", os.devnull, f"--rootdir={root}", f"--confcutdir={root}"]
    pytest.main([*places, *_ARGUMENTS, *more, str(tests)], plugins=[DisabledPluginOptions(), *plugins])


class DisabledPluginOptions:
    """Sets options of plugins that are disabled, which other parts of pytest read."""

    @staticmethod
    def pytest_configure(config: pytest.Config) -> None:
        config.option.trace = config.option.usepdb = False  # read by pytest's unittest plugin


def _offer_testing(equivalent: Equivalent) -> None:
    """Make `from pytest_recode.testing import assert_equivalent` and the like work, whether or not the package is installed."""
    package, module = types.ModuleType("pytest_recode"), types.ModuleType("pytest_recode.testing")
    package.__path__ = []
    package.testing = module  # type: ignore[attr-defined]
    module.assert_equivalent = equivalent  # type: ignore[attr-defined]
    module.assert_unmodified = unmodified.unmodified_by(equivalent)  # type: ignore[attr-defined]
    module.call_and_return_arguments = unmodified.call_and_return_arguments  # type: ignore[attr-defined]
    module.copy_as_sent = copied.copy_as_sent  # type: ignore[attr-defined]
    sys.modules["pytest_recode"], sys.modules["pytest_recode.testing"] = package, module


def entropy(seed: int, case: str) -> int:
    """Entropy for the random generators of one case; with "", or the number of a block, for what is drawn while modules are imported."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{case}".encode()).digest()[:16], "big")

"""The separate grader: runs the hidden tests with pytest and reports each step of each case to the host.

Runs in the grader process, in a sandbox without candidate code. The host launches it (`oracle/programs.py`). Must not
reach the code under test except by the `candidate` fixture, whose answers are decoded into plain data and compared
here. It trusts the tests and the reference.

Messages to the host are `collected`, then, after the order to run some of the cases, for each of them `started` and
`finished`, then `done`; or `broken`, with a text, where the tests cannot give a verdict. If it is to judge several answers,
it then waits for the next order. A rehearsal, before an agent works on the task, runs no tests: it imports the reference and
ends with `ready`.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import inspect
import keyword
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from ..grading import pytest_session
from ..setup.random_generators import seed_generators
from ..setup.task_files import write_files
from ..wire import frames, messages
from . import candidate_link, grader_plugin


def warm() -> None:
    """Run pytest once in the warm parent, so that later runs need not import and compile its modules.

    A warm parent may have no writable directory, so the run collects a file that every Python has.
    """
    importlib.invalidate_caches()  # imports importlib.metadata
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")
        importlib.import_module("numpy.testing")  # numpy imports it when a test first uses it
    inspect.getmodule(_no_test)  # remembers the files of all modules, which a failure's traceback asks for
    paths = list(sys.path)
    file = Path(keyword.__file__)
    plugin = grader_plugin.Plugin()
    plugin.configure(grader_plugin.NoLink(), _WARM, several=False)
    pytest_session.run(file.parent, file, [plugin, _OneTest()])
    sys.path[:] = paths


_WARM = messages.GraderStart(
    tests={},
    reference={},
    roots=[],
    interfaces=["warm"],
    seed=0,
    block=0,
    limit=0,
    rehearsal=False,
    several=False,
)


def _no_test(reference: Any) -> None:
    assert reference is not None


_suspended: list[tuple[Path, pytest.Session, grader_plugin.Plugin]] = []
"""The session of pytest in which the forks are made: its directory, the session and its plugin."""


def hold(serve: Callable[[], None]) -> None:
    """Start pytest and call `serve`, which forks, just before it collects: its start takes longer than most tests.

    Each fork that works in the same directory resumes this session.
    """
    directory = Path.cwd()
    plugin = grader_plugin.Plugin()

    class ServeBeforeCollection:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session: pytest.Session) -> None:
            if not _suspended:
                _suspended.append((directory, session, plugin))
                serve()
                os._exit(0)  # the host has ended

    pytest_session.run(
        directory,
        directory / "tests",
        [plugin, plugin.lost, ServeBeforeCollection()],
        equivalent=plugin.expectation.assert_equivalent,
    )


class _OneTest:
    """Makes pytest collect a function of a file without tests as a test."""

    def pytest_pycollect_makeitem(self, collector: Any, name: str) -> Any:
        if name != "iskeyword":
            return None
        return pytest.Function.from_parent(collector, name=name, callobj=_no_test)


def main(reader: Any, writer: Any) -> None:
    start = cast(messages.GraderStart, frames.read_message(reader, 1 << 40))
    directory = Path.cwd()
    for name, files in (("tests", start["tests"]), ("reference", start["reference"])):
        (directory / name).mkdir()
        write_files(files, directory / name)
    for root in reversed(start["roots"]):
        sys.path.insert(0, str(directory / "reference" / root))
    importlib.invalidate_caches()
    gc.disable()  # until the tests run: in a fork, a collection copies every page that it visits
    hooks = _has_conftest(start["tests"])
    resumes = bool(_suspended) and _suspended[0][0] == directory and not hooks
    plugin = _suspended[0][2] if resumes else grader_plugin.Plugin()
    plugin.configure(
        candidate_link.CandidateLink(reader, writer, start["limit"]), start, several=start["several"] and not hooks
    )
    if any(b"numpy" in data for files in (start["tests"], start["reference"]) for data in files.values()):
        with contextlib.suppress(ImportError):  # the tests' own import will report it
            importlib.import_module("numpy.random")
    # A test that would pass whatever happens is an error, although pytest's warnings plugin is disabled.
    warnings.filterwarnings("error", category=pytest.PytestReturnNotNoneWarning)
    for category in (SyntaxWarning, pytest.PytestAssertRewriteWarning):
        warnings.filterwarnings("error", "assertion is always true", category)
    drawn_on_import = f"block {start['block']}" if start["block"] else ""
    seed_generators(pytest_session.entropy(start["seed"], drawn_on_import))
    with contextlib.redirect_stderr(plugin.stderr):
        if resumes:
            _resume(_suspended[0][1], plugin)
        else:
            compare = plugin.expectation.assert_equivalent
            pytest_session.run(directory, directory / "tests", [plugin, plugin.lost], equivalent=compare)
    if not plugin.collected:
        plugin.report_broken(f"pytest could not start\n{plugin.stderr.getvalue()}")
    plugin.finish()


def _has_conftest(tests: Mapping[str, bytes]) -> bool:
    """Whether there is a conftest.py: it may have hooks that pytest calls before it collects, or for a whole session."""
    return any(path.rpartition("/")[2] == "conftest.py" for path in tests)


def _resume(session: pytest.Session, plugin: grader_plugin.Plugin) -> None:
    """Do what `pytest.main` does with a session from collection on, including its ways to stop."""
    hook = session.config.hook
    try:
        hook.pytest_collection(session=session)
        hook.pytest_runtestloop(session=session)
    except (pytest.exit.Exception, session.Interrupted, session.Failed, KeyboardInterrupt):
        return  # the host notices which cases were not reported
    except pytest.UsageError as error:
        plugin.stderr.write("".join(f"ERROR: {text}\n" for text in error.args))
    except BaseException:  # noqa: BLE001  as pytest does: it is reported, and the grading gives no verdict
        plugin.report_broken(f"pytest failed: {traceback.format_exc()}")

"""What stands for an interpreter in these tests ends, and is ended, as one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

Python = tuple[str, ...]

TELLS = "import os, sys; print(sys.argv, sys.path[0], os.getcwd(), os.environ['WORD'], sys.stdin.read())"


def test_it_is_told_what_an_interpreter_is(quick_python: Python, tmp_path: Path) -> None:
    settings = {
        "cwd": tmp_path,
        "env": {**os.environ, "WORD": "grün"},
        "input": "in",
        "text": True,
        "capture_output": True,
    }
    quick, real = (
        subprocess.run([*python, "-c", TELLS, "a", ""], **settings) for python in (quick_python, [sys.executable])
    )
    assert quick.stdout == real.stdout
    assert (quick.returncode, quick.stderr) == (real.returncode, real.stderr) == (0, "")


@pytest.mark.parametrize(
    "does", ["pass", "import sys; sys.exit(3)", "import sys; sys.exit('no')", "1 / 0", "import os; os.abort()"]
)
def test_it_ends_as_an_interpreter_does(quick_python: Python, does: str) -> None:
    quick, real = (
        subprocess.run([*python, "-c", does], capture_output=True, text=True, check=False)
        for python in (quick_python, [sys.executable])
    )
    assert quick.returncode == real.returncode
    assert quick.stderr.splitlines()[-1:] == real.stderr.splitlines()[-1:]


def test_what_it_runs_is_killed_with_it(quick_python: Python) -> None:
    says_its_number = "import os, select; print(os.getpid(), flush=True); select.select([], [], [])"
    with subprocess.Popen([*quick_python, "-u", "-c", says_its_number], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = os.pidfd_open(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        assert select.select([child], [], [], 60)[0]
        os.close(child)


def test_litellm_is_there_and_the_plugin_is_not(quick_python: Python) -> None:
    asks = "import sys; print('litellm' in sys.modules, any('recode.plugin' in name for name in sys.modules))"
    assert (
        subprocess.run([*quick_python, "-c", asks], capture_output=True, text=True, check=True).stdout == "True False\n"
    )
    asked_for_more = [*quick_python, "-W", "error", "-c", asks]
    assert subprocess.run(asked_for_more, capture_output=True, text=True, check=True).stdout == "False False\n"

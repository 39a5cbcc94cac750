"""Progress of a run: on a terminal it never gets in pytest's way, in a log it is a line now and then."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest

from tests.chat_server import Answer, ChatServer, Request, say

from .conftest import words

MakeTask = Callable[..., Path]
Run = Callable[..., pytest.RunResult]
WRONG = "```python answer.py\ndef twice(x):\n    return x\n\n\ndef half(x):\n    return x\n```\n"
ROWS, COLUMNS = 40, 250  # paths of temporary directories fit into a row
QUICK = "from pytest_recode.plugin.reports import progress\n\nprogress.EVERY = progress.LOG_EVERY = 0.05\n"
PLAY = (
    "-p",
    "no:cacheprovider",
    "bench",
    "--recode-sandbox=process",
    "--recode-agent=one-shot",
    "--recode-feedback=L0",
)


class Terminal:
    """A terminal with a program in it: what it has shown, screen by screen."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._screen = pyte.HistoryScreen(COLUMNS, ROWS, history=1000)
        self._stream = pyte.ByteStream(self._screen)

    def read(self) -> bool:
        """What is there to read; False at the end."""
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # Linux: the program has ended
            return False
        self._stream.feed(data)
        return bool(data)

    @property
    def text(self) -> str:
        """All lines, those that have scrolled away, too."""
        above = ["".join(row[column].data for column in range(COLUMNS)) for row in self._screen.history.top]
        return "\n".join(row.rstrip() for row in [*above, *self._screen.display]).rstrip()

    def until(self, text: str) -> str:
        """Read until a row that is on the screen has this text. Returns all lines."""
        while not any(text in row for row in self._screen.display):
            assert self.read(), self.text
        return self.text


@contextmanager
def terminal(place: Path, *args: str) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "pytest", *args]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    environ.pop("CI", None)
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=child, cwd=place, env=environ) as process:
        os.close(child)
        try:
            yield Terminal(parent), process
        finally:
            process.kill()
            os.close(parent)


@pytest.fixture
def held() -> Iterator[tuple[ChatServer, threading.Event]]:
    """A server that gives a wrong answer at once, and the second one of an episode when the event is set."""
    go = threading.Event()

    def answer(request: Request) -> Answer:
        return say(WRONG) if "Feedback on turn 1" not in request.prompt else say(WRONG, wait=go)

    with ChatServer(answer) as server:
        yield server, go


OUT = {"live": "one-run", "off": "two-run"}
"""Names of the same length: the terminal breaks a long line that names the directory at the same place."""


@pytest.mark.slow
@pytest.mark.parametrize("given", [("-n0",), ("-n2", "-v")])
def test_a_terminal_shows_the_running_episodes_and_afterwards_what_it_would_show_without(
    make_task: MakeTask, pytester: pytest.Pytester, held: tuple[ChatServer, threading.Event], given: tuple[str, ...]
) -> None:
    server, go = held
    for task in ("one", "two"):
        make_task(task)
    pytester.makeconftest(QUICK)
    pytester.makepyfile(test_own="import pytest\n\n@pytest.mark.parametrize('n', range(60))\ndef test_n(n): print(n)\n")
    play = [*PLAY, "test_own.py", "--recode-model=local", f"--recode-api-base={server.url}", "--recode-turns=2", *given]
    shown = {}
    for where in ("live", "off"):
        go.clear()
        with terminal(pytester.path, *play, f"--recode-progress={where}", f"--recode-out={OUT[where]}") as (
            screen,
            process,
        ):
            if where == "live":
                text = screen.until("turn 2/2")
                assert re.search(
                    r"^(one|two) +local +L0 +turn 2/2 +L?0? +0/2 cases +(model|feedback) \d+ s$", text, re.M
                )
                assert "0 of 2 done" in text
            go.set()
            while screen.read():
                pass
            assert process.wait() == 1
            shown[where] = screen.text
    assert "turn 2/2" not in shown["live"]
    assert plain(shown["live"]) == plain(shown["off"])


def plain(text: str) -> list[str]:
    """Without what differs between two runs: times, tokens, order of the results and of the start of workers, names of files."""
    text = re.sub(r"\d+\.\d\ds( \(0:\d\d:\d\d\))?|one-run|two-run|=|[0-9a-f]{8}\.jsonl|:\d{4,5}/v1", "", text)
    rows = [re.sub(r"\[gw\d\]( *\[ *\d+%\])? ", "", row).strip() for row in text.splitlines()]
    # A line while litellm loads, if that takes long; xdist's count of the workers that are ready, where another line comes before the last.
    rows = [row for row in rows if "litellm" not in row and not re.fullmatch(r"\w+: \d+/\d+ workers?", row)]
    return sorted(rows) if "scheduling tests" in text else rows


@pytest.mark.slow
def test_a_log_has_a_line_with_the_latest_turn(
    make_task: MakeTask,
    pytester: pytest.Pytester,
    held: tuple[ChatServer, threading.Event],
    quick_python: tuple[str, ...],
) -> None:
    server, go = held
    make_task("one")
    pytester.makeconftest(QUICK)
    command = [*quick_python, "-m", "pytest", *PLAY, "--recode-model=local", f"--recode-api-base={server.url}"]
    command += ["--recode-turns=2", "--recode-out=out", "-n0"]
    with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        read = []
        for row in process.stdout:
            read.append(row)
            if "turn 1 of 2" in row:
                go.set()
        assert go.is_set(), "".join(read)
    [reported] = [row for row in read if "turn 1 of 2" in row]
    assert re.fullmatch(
        r"recode: 0 of 1 done: 0 solved; cost unknown, \d+ tokens; one, local, L0: turn 1 of 2: 0 of 2 cases, \d+ tokens in this turn\n",
        reported,
    )


def test_live_without_a_terminal_is_refused(make_task: MakeTask, recode: Run) -> None:
    make_task()
    result = recode("--recode-model=sim/expert", "--recode-progress=live")
    assert "--recode-progress=live needs a terminal" in words(result)
    assert "--recode-progress=plain" in words(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR

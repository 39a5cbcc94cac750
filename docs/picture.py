"""Draw docs/terminal.svg and docs/report.svg: a run and a report as a terminal shows them. Needs `pip install rich`, from the repository's root."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 108
RUN = "pytest -v --recode-model=sim/graduate"
LEVELS = "pytest tasks --recode-model=sim/novice --recode-feedback=L0 --recode-feedback=L4 --recode-turns=4 -n 2"
REPORT = "pytest-recode report levels --table episodes --table comparisons"


def main() -> None:
    with tempfile.TemporaryDirectory() as out:
        # without live progress, whose erased lines a picture would show
        quiet = ("--color=yes", "--recode-progress=off", "-p", "no:cacheprovider")
        text = shown(RUN, *quiet, f"--recode-out={out}/records")
        lines = text.replace(f"{out}/records", "recode-out/20260101-120000").splitlines()
        # what differs from machine to machine says nothing here
        told = [line for line in lines if not re.match(r"(rootdir|plugins|platform|cachedir|configfile)", line)]
        draw("docs/terminal.svg", RUN, told)
        shown(LEVELS, "-p", "no:cacheprovider", f"--recode-out={out}/levels")
        text = shown(REPORT.replace("levels", f"{out}/levels", 1))
        draw("docs/report.svg", REPORT, text.replace(f"{out}/", "").splitlines())


def shown(command: str, *more: str) -> str:
    """What a terminal of `WIDTH` characters gets."""
    program, *arguments = command.split()
    module = {"pytest": "pytest", "pytest-recode": "pytest_recode.cli"}[program]
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (60, WIDTH))
    environment = {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments, *more], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    data = b""
    try:
        while part := os.read(ours, 65536):
            data += part
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    process.wait()
    return data.decode().replace("\r\n", "\n")


def draw(path: str, command: str, lines: list[str]) -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join([f"$ {command}", *lines])), soft_wrap=True)
    console.save_svg(path, title="pytest-recode")


if __name__ == "__main__":
    main()

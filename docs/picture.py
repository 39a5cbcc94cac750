"""Draw docs/terminal.svg and docs/report.svg: a run and a report as a terminal shows them. Needs `pip install rich`, from the repository's root."""

from __future__ import annotations

import html
import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 108
QUICK = "-m \"recode(subset='quick')\""
RUN = f"pytest -v {QUICK} --recode-model=sim/graduate"
LEVELS = f"pytest {QUICK} --recode-model=sim/novice --recode-feedback=L0 --recode-feedback=L4 --recode-turns=4 -n 2"
REPORT = "pytest-recode report levels --table episodes --table comparisons"


def main() -> None:
    with tempfile.TemporaryDirectory() as out:
        # without live progress, whose erased lines a picture would show
        quiet = ("--color=yes", "--recode-progress=off", "-p", "no:cacheprovider")
        text = shown(RUN, *quiet, f"--recode-out={out}/records")
        text = text.replace(f"{out}/records", "recode-out/20260101-120000")
        draw("docs/terminal.svg", RUN, of_every_machine(text.splitlines()))
        shown(LEVELS, "-p", "no:cacheprovider", f"--recode-out={out}/levels")
        text = shown(REPORT.replace("levels", f"{out}/levels", 1))
        draw("docs/report.svg", REPORT, text.replace(f"{out}/", "").splitlines())


def of_every_machine(lines: list[str]) -> list[str]:
    """The lines without those, and without the duration and the kind of memory limit, that differ from machine to machine."""
    own = re.compile(r"(rootdir|plugins|platform|cachedir|configfile|metadata|hypothesis|testpaths)")
    differs = re.compile(r" in [\d.]+s( \([\d:]+\))?|; memory limit: .*")
    return [differs.sub("", line) for line in lines if not own.match(line)]


def shown(command: str, *more: str) -> str:
    """What a terminal of `WIDTH` characters gets."""
    program, *arguments = shlex.split(command)
    module = {"pytest": "pytest", "pytest-recode": "pytest_recode.cli"}[program]
    screen, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (60, WIDTH))
    environment = {"PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments, *more], stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    data = b""
    try:
        while part := os.read(screen, 65536):
            data += part
    except OSError:  # the other side is closed
        pass
    os.close(screen)
    process.wait()
    # of a line that was written again, the last text
    return "\n".join(line.rpartition("\r")[2] for line in data.decode().replace("\r\n", "\n").split("\n"))


def text_of(picture: str) -> list[str]:
    """The lines of a picture that `draw` wrote."""
    rows: dict[float, str] = {}
    for y, text in re.findall(r'<text [^>]*\by="([\d.]+)"[^>]*>(.*?)</text>', picture):
        rows[float(y)] = rows.get(float(y), "") + html.unescape(text).replace("\xa0", " ")
    return [rows[y].rstrip() for y in sorted(rows)]


def draw(path: str, command: str, lines: list[str]) -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join([f"$ {command}", *lines])), soft_wrap=True)
    console.save_svg(path, title="pytest-recode")


if __name__ == "__main__":
    main()

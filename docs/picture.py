"""Draw docs/terminal.svg: the README's first command, as a terminal shows it. Needs `pip install rich`, from the repository's root."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

COMMAND = "pytest -v --recode-model=sim/graduate"


def main() -> None:
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                *COMMAND.split(),
                "--color=yes",
                "-p",
                "no:cacheprovider",
                f"--recode-out={out}/records",
            ],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "108", "TERM": "xterm-256color"},
            check=False,
        )
        text = done.stdout.replace(f"{out}/records", "recode-out/20260101-120000")
    # what differs from machine to machine says nothing here
    lines = [
        line for line in text.splitlines() if not re.match(r"(rootdir|plugins|platform|cachedir|configfile)", line)
    ]
    console = Console(record=True, width=108, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join([f"$ {COMMAND}", *lines])), soft_wrap=True)
    console.save_svg("docs/terminal.svg", title="pytest-recode")


if __name__ == "__main__":
    main()

"""Show a text in the user's pager, if the output is a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def paged(text: str, *, pager: bool) -> str:
    """Show `text` in $PAGER (default: less) and return ""; or return it, if the output is no terminal, or there is or should be no pager."""
    command = os.environ.get("PAGER", "less")
    if not pager or not sys.stdout.isatty() or not command or shutil.which(command.split()[0]) is None:
        return text
    environ = {"LESS": "FRX", **os.environ}  # leave if the text fits, show colours, keep the text on the screen
    subprocess.run(command, shell=True, input=text.encode(), env=environ, check=False)
    return ""

"""Say what is doubtful about targets that are about to be handed in: nothing was written, no Python, lost definitions.

Called by every agent that hands in or changes files. Pure functions of files: nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_recode.agents.python_source import names_in, syntax_error, syntax_fault, without
from pytest_recode.task import WHOLE, Files
from pytest_recode.verdict import legible
from pytest_recode.wording import some_of

_MOST_QUOTED = 100
"""Characters of a line of code in a sentence."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


def untouched(targets: Sequence[str], files: Files, repo: Files) -> str:
    """A sentence that names the targets in which nothing was written; "" if there are none."""
    if WHOLE in targets:
        return "" if files else "No file of the workspace was changed."
    unwritten = [
        path
        for path in targets
        if files.get(path) == repo.get(path) and not any(each.startswith(f"{path.rstrip('/')}/") for each in files)
    ]
    delivered, absent = [path for path in unwritten if path in repo], [path for path in unwritten if path not in repo]
    as_delivered = (
        "is still as the repository delivered it"
        if len(delivered) == 1
        else "are still as the repository delivered them"
    )
    sentences = [
        f"{' and '.join(delivered)} {as_delivered}." if delivered else "",
        f"{' and '.join(absent)} {'does' if len(absent) == 1 else 'do'} not exist." if absent else "",
    ]
    return " ".join(filter(None, sentences))


def not_python(path: str, text: str) -> str:
    """A clause that says why the text of a Python file is not valid; "" for valid Python and for other files."""
    fault = syntax_fault(text) if path.endswith(".py") else None
    if fault is None:
        return ""
    line = text.split("\n")[fault.line - 1].strip() if fault.line else ""
    return f"{path} is not valid Python ({fault.text}{f': `{legible(line)[:_MOST_QUOTED]}`' if line else ''})"


def lost_definitions(path: str, before: str, after: str) -> str:
    """A clause that names the functions, classes and methods of a Python file that a new text of it lacks; "" if it lacks none."""
    if not path.endswith(".py") or syntax_error(before) is not None or syntax_error(after) is not None:
        return ""
    lost = sorted(without(names_in(before), names_in(after)))
    return f"{path} does not define {some_of([f'`{name}`' for name in lost], 8)} any more" if lost else ""


def note_on_change(path: str, before: str | None, after: str) -> str:
    """A note for the model if a change emptied a file, made it invalid Python, took functions or classes from it, or put control characters
    into it; "" otherwise. `before` is None for a new file."""
    if not after.strip():
        return f" Note: {path} is empty now." if before is None or before.strip() else ""
    control = next((found for found in _CONTROL.findall(after) if found not in (before or "")), "")
    if control:
        control = f" Note: {path} holds the control character U+{ord(control):04X} now; a backslash of the code is written \\\\ in JSON."
    wrong = not_python(path, after)
    if wrong and before is not None and before.strip() and not not_python(path, before):
        wrong += "; before this change it was valid"
    note = wrong or lost_definitions(path, before or "", after)
    return f"{control} Note: {note}." if note else control

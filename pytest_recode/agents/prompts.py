"""The words that the built-in agents say to a model. Pure: a Brief and numbers in, text out."""

from __future__ import annotations

from pytest_recode.agents.actions import FORMS, MAX_ACTIONS, form_of
from pytest_recode.episode import Feedback
from pytest_recode.task import Brief, Files

MAX_LISTED = 400
"""Paths of the repository shown in a prompt: some 6,000 tokens; the rest is a `list` away."""
MAX_TARGET = 60_000
"""Characters of one target shown at each step: some 15,000 tokens; research code is far smaller."""

ROLE = """\
You are an engineer who implements research code: the method of a scientific paper, inside an existing repository. \
Hidden tests judge the target files: they run what the instruction asks for and compare it with the authors' \
implementation. When they fail you get feedback and another turn."""

RULES = f"""\
Rules:
- Write only what the targets need; files other than the targets are not handed in. Use what the repository has.
- Follow signatures, shapes, dtypes, units and edge cases of the instruction exactly; the paper says what the method is.
- Each answer is one step and costs one of the few steps of a turn. An answer may hold up to {MAX_ACTIONS} actions; \
they are done in order, and those after one that was refused are not done.
- `submit` hands the targets in and ends the turn. After the last step of a turn they are handed in as they are.
- There is no network. Commands run in the workspace, with a time limit."""

PARTS_ASKED = """\
Think in four parts, each short: Observation (what the repository, the last results and the feedback show), \
Reflection (what is right, what is wrong and why), Planning (what you will do), Action."""


def system_text(*, native_tools: bool) -> str:
    if native_tools:
        how = (
            f"{PARTS_ASKED} Act by calling tools; give the other three parts as the arguments observation, "
            "reflection and planning of the first call."
        )
    else:
        how = f"{PARTS_ASKED}\n\n{protocol_text()}"
    return f"{ROLE}\n\n{how}\n\n{RULES}"


def protocol_text() -> str:
    """The text protocol as a model is told it; docs/agents.md has the same."""
    actions = "\n\n".join(f"{form.does}\n\n{form_of(kind)}" for kind, form in FORMS.items())
    return f"""\
Answer in exactly this form, with these headings:

### Observation
...
### Reflection
...
### Planning
...
### Action: write
path: src/model.py
text <<END_OF_TEXT
import numpy as np
END_OF_TEXT
### Action: run
command: python3 -c "import model"

A text of several lines is a block: `name <<WORD`, the lines exactly as they are meant (no code fence, no added \
indentation), then a line that holds only WORD. Choose a WORD that is no line of the text. Any argument may be a block.

The actions:

{actions}"""


def brief_text(brief: Brief) -> str:
    """Paper, instruction, targets, repository: what stays the same for the whole episode."""
    paths = sorted(brief.repo)
    listed = "\n".join(paths[:MAX_LISTED])
    if len(paths) > MAX_LISTED:
        listed += f"\n... and {len(paths) - MAX_LISTED} more files"
    sections = [f"# Task: {brief.title}"]
    if brief.paper:
        sections.append(f"# Paper\n\n{brief.paper.strip()}")
    sections.append(f"# Instruction\n\n{brief.instruction.strip()}")
    sections.append("# Targets (the files you must write)\n\n" + "\n".join(brief.targets))
    if brief.interfaces:
        sections.append("# Interfaces under test\n\n" + "\n".join(brief.interfaces))
    sections.append(f"# Files of the repository\n\n{listed}")
    return "\n\n".join(sections)


FOR_THE_BLOCK = "The code of a correction stands for the block that is asked for, and not for its whole file."


def feedback_text(brief: Brief, feedback: Feedback | None) -> str:
    """The feedback; where it may correct a part of a file, with what its code is to replace."""
    if feedback is None:
        return "# Feedback\n\nNone yet: this is the first turn."
    said = f"# Feedback on turn {feedback.turn}\n\n{feedback.text.strip() or 'The hidden tests failed.'}"
    return f"{said}\n\n{FOR_THE_BLOCK}" if brief.slot is not None and feedback.level >= 4 else said


def budget_text(step: int, steps: int, turn: int, turns: int) -> str:
    left = (
        "This is the last step of the turn: after it the targets are handed in as they are."
        if step == steps
        else f"After step {steps} the targets are handed in as they are; `submit` does it before."
    )
    return f"Step {step} of {steps} in turn {turn} of {turns}. {left}"


def targets_text(brief: Brief, targets: Files) -> str:
    """The targets as they are now, as blocks; each is cut at MAX_TARGET characters."""
    shown = []
    for path in brief.targets:
        if path not in targets:
            shown.append(f"## {path}\n\n(absent: it does not exist, or is no regular file, or is larger than 1 MiB)")
            continue
        text = targets[path].decode("utf-8", "replace")
        if not text.strip():
            shown.append(f"## {path}\n\n(empty)")
            continue
        fence = fence_for(text)
        shown.append(f"## {path}\n\n{fence}\n{cut(text, MAX_TARGET).rstrip()}\n{fence}")
    return "# Current content of the targets\n\n" + "\n\n".join(shown)


def cut(text: str, limit: int) -> str:
    """`text` with its middle left out past `limit` characters, and a note that says so."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} of {len(text)} characters left out ...]\n{text[-half:]}"


def fence_for(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return fence

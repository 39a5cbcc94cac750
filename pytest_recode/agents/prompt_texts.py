"""The words that the built-in agents say to a model. Pure: a Brief and numbers in, text out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.text_form import ANY_FILE, form
from pytest_recode.episode import Feedback
from pytest_recode.task import (
    INSTRUCTION_FILE,
    PAPER_FILE,
    REMOVED,
    WHOLE,
    Brief,
    Files,
    brief_files,
    covers,
    removed_files,
)
from pytest_recode.verdict import legible

MAX_LISTED = 400
"""Paths of the repository shown in a prompt: some 6,000 tokens; the rest is a `list` away."""
MAX_NAMED = 120
"""Characters of a path, command or query in the line above its result."""
MAX_TARGET = 60_000
"""Characters of one target shown at each step: some 15,000 tokens; research code is far smaller."""

_CUT_BEFORE = re.compile(r"\n\[\.\.\. \d+ bytes cut \.\.\.\]\n")
"""What `inside/runtime/command_runner.py` puts in the place of what it cuts out of a command's output."""

ESCAPED = "[Characters that do not print are shown as escapes, such as \\r or \\x1b; they stand for the characters themselves.]"
CRLF = "[Its lines end in CRLF.]"

ROLE = """\
You are an engineer who implements research code: the method of a scientific paper, inside an existing repository. \
Hidden tests judge the target files: they run what the instruction asks for and compare it with the authors' \
implementation. They may draw new inputs each time, so the number of failing cases can change although the code did not. When they fail \
you get feedback and another turn. A test stops at its first failure, so there may be more wrong than the feedback says. The level of a feedback is how much it tells: from L0, that tests fail, to L4, which adds the correcting \
code."""

RULES = """\
Rules:
- Only the targets are handed in. Use what the repository has.
- Follow signatures, shapes, dtypes, units and edge cases of the instruction exactly; the paper says what the method is.
- A turn has few steps, and an answer is one. Its actions, eight at most, are done in order, up to one that is refused.
- {hand_in} hands the targets in and ends the turn. If they look unfinished, it waits once and says why, but not in the last step.
- There is no network."""

PARTS_ASKED = """\
Think in four parts, each short: Observation (what the repository, the last results and the feedback show), \
Reflection (what is right, what is wrong and why), Planning (what you will do), Action."""


def system_text(*, native_tools: bool, command_seconds: float, target: str) -> str:
    """Role, form of an answer and rules. `command_seconds`: the time limit of a command in the workspace. `target`: one of the targets, for
    examples."""
    if native_tools:
        how = (
            f"{PARTS_ASKED} Act by calling tools; give the other three parts as the arguments observation, "
            "reflection and planning of the first call."
        )
    else:
        how = (
            f"{PARTS_ASKED} Give each a heading (`### Observation`), and below the last one the actions: fenced blocks, each with a first line as"
            f" here. Use no block for anything else.\n\n{form(target)}"
        )
    limit = f"Commands run in the workspace, for {command_seconds:g} s at most."
    return f"{ROLE}\n\n{how}\n\n{RULES.format(hand_in=hand_in_word(native_tools))} {limit}"


def brief_text(brief: Brief, *, workspace: bool = False) -> str:
    """Paper, instruction, targets, repository: what stays the same for the whole episode. `workspace`: the agent can read files."""
    return "\n\n".join(brief_sections(brief, workspace=workspace).values())


def brief_sections(brief: Brief, *, workspace: bool = False) -> dict[str, str]:
    """The sections of `brief_text`, by what they are."""
    paths = sorted(brief.repo)
    files = brief_files(brief)
    listed = "\n".join(paths[:MAX_LISTED])
    if len(paths) > MAX_LISTED:
        listed += f"\n... and {len(paths) - MAX_LISTED} more files"
    sections = {"title": f"# Task: {brief.title}"}
    if brief.paper:
        sections["paper"] = f"# Paper{_file(PAPER_FILE, files)}\n\n{brief.paper.strip()}"
    elif PAPER_FILE in brief.instruction and PAPER_FILE not in brief.repo:
        sections["paper"] = f"# Paper\n\nThe instruction refers to {PAPER_FILE}, which is not part of this run."
    sections["instruction"] = f"# Instruction{_file(INSTRUCTION_FILE, files)}\n\n{brief.instruction.strip()}"
    sections["targets"] = _EVERY_FILE if WHOLE in brief.targets else _TARGETS + "\n".join(brief.targets)
    if brief.interfaces:
        sections["interfaces"] = "# Interfaces under test\n\n" + "\n".join(brief.interfaces)
    if workspace and files:
        verb = "holds" if len(files) == 1 else "hold"
        listed += (
            f"\n\nBeside these files, {' and '.join(files)} of the workspace {verb} the text above, word for word."
        )
    sections["listing"] = f"# Files of the repository\n\n{listed}"
    return sections


_TARGETS = "# Targets (the files you must write)\n\n"
_EVERY_FILE = "# Targets\n\nEvery file of the workspace: what you add, change or remove there is handed in."


def example_target(brief: Brief) -> str:
    """A path of a target, for examples."""
    return next((path for path in brief.targets if path != WHOLE), ANY_FILE)


def _file(path: str, files: Files) -> str:
    return f" ({path})" if path in files else ""


def result_text(kind: str, arguments: Mapping[str, str], text: str) -> str:
    """What came of an action, under a line that names the action and what it was about: `Result of read src/a.py:`."""
    form = FORMS.get(kind)
    about = arguments.get(form.main, "") if form is not None else ""
    if kind == "grep" and "path" in arguments:
        about += f" in {arguments['path']}"
    first, _, more = about.strip().partition("\n")
    about = f"{first[:MAX_NAMED].rstrip()}..." if more or len(first) > MAX_NAMED else first
    return f"Result of {kind}{' ' if about else ''}{about}:\n{text}"


FOR_THE_BLOCK = "The code of a correction stands for the block that is asked for, and not for its whole file."


def feedback_text(brief: Brief, feedback: Feedback | None) -> str:
    """The feedback; where it may correct a part of a file, with what its code is to replace."""
    if feedback is None:
        return "# Feedback\n\nNone yet: this is the first turn."
    text, title = feedback.text.strip() or "The hidden tests failed.", f"Feedback on turn {feedback.turn}"
    said = f"# Feedback\n\n{text}" if text.startswith(f"{title},") else f"# {title}\n\n{text}"
    return f"{said}\n\n{FOR_THE_BLOCK}" if brief.slot is not None and feedback.level >= 4 else said


def hand_in_word(native_tools: bool) -> str:
    """How a model hands in."""
    return "`submit`" if native_tools else "SUBMIT"


def budget_text(step: int, steps: int, turn: int, turns: int, hand_in: str) -> str:
    """`hand_in`: how the model hands in."""
    left = (
        "This is the last step of the turn: after it the targets are handed in as they are."
        if step == steps
        else f"After step {steps} the targets are handed in as they are; {hand_in} hands them in earlier."
    )
    return f"Step {step} of {steps} in turn {turn} of {turns}. {left}"


def target_files(brief: Brief, targets: Files) -> dict[str, str]:
    """The targets that exist, as a prompt shows them."""
    return {path: targets[path].decode("utf-8", "replace") for path in brief.targets if path in targets}


def targets_text(brief: Brief, targets: Files, above: Mapping[str, str] | None = None) -> str:
    """The targets as they are now, as blocks; each is cut at MAX_TARGET characters. `above`: in what the prompt has one already."""
    pieces = []
    for path in brief.targets:
        if place := (above or {}).get(path):
            pieces.append(f"## {path}\n\n(not repeated here: it is exactly as in {place}, above)")
            continue
        if path not in targets and (path == WHOLE or _below(path, targets)):
            pieces.append(_changed(path, targets))
            continue
        if path not in targets:
            pieces.append(f"## {path}\n\n(absent: it does not exist, or is no regular file, or is larger than 1 MiB)")
            continue
        text = targets[path].decode("utf-8", "replace")
        if not text.strip():
            pieces.append(f"## {path}\n\n(empty)")
            continue
        fence = fence_for(text)
        said, note = printable(text)
        pieces.append(
            f"## {path}\n\n{fence}\n{cut(said, MAX_TARGET).removesuffix(chr(10))}\n{fence}"
            + (f"\n{note}" if note else "")
        )
    return "# Current content of the targets\n\n" + "\n\n".join(pieces)


def _below(path: str, targets: Files) -> list[str]:
    return sorted(each for each in targets if each != REMOVED and covers((path,), each))


def _changed(path: str, targets: Files) -> str:
    """The files of a target that is a directory."""
    lines = [f"{each} ({len(targets[each])} bytes)" for each in _below(path, targets)]
    lines += [f"{each} (removed)" for each in removed_files(targets) if covers((path,), each)]
    what = "Changed files of the workspace" if path == WHOLE else path
    more = [f"... and {len(lines) - MAX_LISTED} more files"] if len(lines) > MAX_LISTED else []
    return f"## {what}\n\n" + ("\n".join([*lines[:MAX_LISTED], *more]) or "(none)")


def cut(text: str, limit: int) -> str:
    """`text` with its middle left out past `limit` characters, and a note that says so.

    The note of a sandbox that cut the text before is lost with the middle, so the numbers are then the least that they can be.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    least = "at least " if _CUT_BEFORE.search(text, half, len(text) - half) else ""
    out = f"{least}{len(text) - 2 * half} of {least}{len(text)} characters left out"
    return f"{text[:half]}\n[... {out} ...]\n{text[-half:]}"


def printable(text: str) -> tuple[str, str]:
    """`text` with control characters and others that do not print as escapes, since providers refuse them; and what to say of it below,
    "" for most texts."""
    notes = []
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
        notes.append(CRLF)
    shown = legible(text, keep="\n\t\u00a0\u3000")
    return shown, "\n".join([*notes, *([ESCAPED] if shown != text else [])])


def fence_for(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


def no_room(window: int | None) -> str:
    """Why a turn has ended without an answer."""
    size = "" if window is None else f" of some {window:,} tokens"
    return (
        f"No answer: even without what was done before, the prompt does not fit into the model's context window{size}. The turn has"
        " ended here, with the targets as they were."
    )

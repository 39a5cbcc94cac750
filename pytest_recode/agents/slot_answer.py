"""How `one-shot` asks for a part of a file, and which part of the answer counts: the last fenced Python block.

The prompt follows ResearchCodeBench: the paper, the context files, the file with the placeholder, and the assignment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_recode.agents.markdown import PYTHON, UnclearError, fences, without_any_thoughts
from pytest_recode.agents.prompt_texts import fence_for
from pytest_recode.agents.python_source import ends_in_a_string
from pytest_recode.slots import laid, reindented
from pytest_recode.task import Brief, Slot

ROLE = "You are an expert who completes the code of a scientific paper exactly as its authors meant it."

HOW = """\
Write what belongs in {path} in the place of

{placeholder}

- Only the code that replaces these lines; nothing that stands around them, such as the head of the function they are in.
- At exactly their indentation: {depth}. The code is laid in as it stands, without moving it.
- Complete, without further gaps, and in the names and shapes that the code around it uses.{paper}
- In one block that begins with a line ```python and ends with a line ```. Of several the last one counts.

For example, for

```python
def mean(values):
    if values:
        # TODO: Implement block "the mean"
        # Approximately 2 line(s) of code.
    return 0.0
```

the answer, at its indentation of 8 blanks, would be

```python
        total = sum(values)
        return total / len(values)
```"""

_LOOSE = re.compile(r"^[ \t]*```python[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)

_WHICH_END = (
    "The code fences do not tell where the code{begins} ends: a line of backticks is in one of its strings. Nothing was"
    " written. Use a fence of four backticks."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotAnswer:
    """`text` is the whole file with the answer inserted, None if there was no answer. `problems` are shown to the model."""

    text: str | None = None
    reindented: bool = False
    problems: tuple[str, ...] = ()


def prompt(brief: Brief, slot: Slot) -> str:
    sections = [f"# Paper\n\n{brief.paper.strip()}"] if brief.paper else []
    sections += [f"# Context: {path}\n\n{_fenced(brief, path)}" for path in slot.context if path in brief.repo]
    sections.append(f"# The code to complete: {slot.path}\n\n{_fenced(brief, slot.path)}")
    return "\n\n".join([*sections, f"# What to write\n\n{how(brief, slot)}"])


def how(brief: Brief, slot: Slot) -> str:
    blanks = len(slot.indent)
    depth = f"{blanks} tabs" if slot.indent == "\t" * blanks and blanks else f"{blanks} blanks"
    paper = "\n- As the paper above describes the method." if brief.paper else ""
    rows = brief.repo[slot.path].decode("utf-8", "replace").split("\n")[slot.start : slot.stop]
    placeholder = "\n".join(f"    {row.strip()}" for row in rows)
    return HOW.format(path=slot.path, placeholder=placeholder, depth=depth, paper=paper)


def read(text: str, brief: Brief, slot: Slot, *, reindent: bool) -> SlotAnswer:
    """The file that results from an answer."""
    try:
        everything = fences(text)
    except UnclearError as unclear:
        return SlotAnswer(problems=(f"{unclear} The file is unchanged.",))
    pieces = [piece for piece in everything if piece.language in PYTHON]
    for piece in pieces:
        if piece is not everything[-1] and ends_in_a_string(piece.text):
            return SlotAnswer(problems=(_WHICH_END.format(begins=f" that begins in line {piece.line}"),))
    # The block that counts is the last one, and never an earlier draft because the last one was cut off.
    cut_off = pieces and not pieces[-1].closed
    # Those of the expression are deeper than Markdown allows, within a list.
    blocks = [piece.raw for piece in pieces] or _LOOSE.findall(without_any_thoughts(text))
    if cut_off or not blocks:
        why = (pieces[-1].unclosed,) if cut_off else ()
        unchanged = "Your answer has no whole block of code that begins with ```python: the file is unchanged."
        return SlotAnswer(problems=(*why, unchanged))
    if not pieces and ends_in_a_string(blocks[-1]):
        return SlotAnswer(problems=(_WHICH_END.format(begins=""),))
    code = blocks[-1].removesuffix("\n")
    moved = reindented(code, slot.indent) if reindent else code
    untouched = brief.repo[slot.path].decode("utf-8", "surrogateescape")
    return SlotAnswer(text=laid(untouched, slot, moved), reindented=moved != code)


def _fenced(brief: Brief, path: str) -> str:
    text = brief.repo[path].decode("utf-8", "replace")
    fence = fence_for(text)
    return f"{fence}python\n{text.rstrip()}\n{fence}" if path.endswith(".py") else f"{fence}\n{text.rstrip()}\n{fence}"

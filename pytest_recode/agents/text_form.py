"""The text form of an answer, for models without native tool calls: Markdown, in which a fenced block is an action.

    ```python src/model.py          a file and its whole text
    ```

    ```python src/model.py          a change of a file: lines of it, and what to put in their place
    <<<<<<< SEARCH
    =======
    >>>>>>> REPLACE
    ```

    ```bash                         a shell command
    ```

    ```search                       words to search the repository for
    ```

    SUBMIT                          the last line

`read_text` has two outcomes: a Step in which every action and every text is as it was written, or a ProtocolError, and then nothing of the
answer is done. Code in a block that is no action stands before the actions; `step_checks` decides whether the answer is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pytest_recode.agents.actions import MAX_ACTIONS, Action, ProtocolError, Step
from pytest_recode.agents.arguments import action
from pytest_recode.agents.forms import PARTS
from pytest_recode.agents.markdown import PYTHON, Fence, TextLine, UnclearError, read, within

SHELLS = frozenset({"bash", "sh", "shell"})
"""Languages of a block that is a command."""
SEARCH, BETWEEN, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_SUBMIT = re.compile(r"\W{0,20}submit\W{0,20}", re.IGNORECASE)
_WORD = re.compile(r"\bSUBMIT\b")
_WRITTEN_CALL = re.compile(r"^\s*[\[{<]", re.MULTILINE)

_FOUR = "If the text of a block holds a line of three backticks, use four for the block."
HAND_IN = "To hand in, the word SUBMIT alone on the last line of the answer."
ANY_FILE = "src/model.py"
"""The file of the examples where no target is known."""


def form(target: str = ANY_FILE) -> str:
    """How a model is told the form, in every prompt and where it did not use it. `target`: the file of the examples."""
    return f"""\
A file, with its whole text (four backticks, if the text has a line of three):

```python {target}
import numpy as np
```

A change of a file, if that is shorter: lines of it, all of them and exactly as they are, and the lines to put in their place:

```python {target}
{SEARCH}
import numpy
{BETWEEN}
import numpy as np
{REPLACE}
```

A shell command, with which you also list and read files:

```bash
grep -rn "def fit" .
```

A search for functions and classes of the repository, by words or code:

```search
gradient of the loss
```

{HAND_IN}"""


def read_text(text: str, target: str = ANY_FILE) -> Step | ProtocolError:
    """Read one answer of a model. It executes nothing, and never chooses between two readings. `target`: the file of the examples in an
    error."""
    if not text.strip():
        return ProtocolError(text=f"Your answer was empty. Answer in this form:\n\n{form(target)}")
    try:
        parts = read(text)
        actions, unsaved = _actions(parts, target)
    except UnclearError as unclear:
        return ProtocolError(text=f"{unclear} Nothing was done.")
    if not actions:
        why = unsaved or next((_no_action(part) for part in parts if isinstance(part, Fence)), "") or call_note(text)
        reasons = " ".join(filter(None, ["Your answer has no action.", why, _unheard(parts, actions)]))
        return ProtocolError(text=f"{reasons} Nothing was done. Answer in this form:\n\n{form(target)}")
    if len(actions) > MAX_ACTIONS:
        return ProtocolError(
            text=f"Your answer has {len(actions)} actions; at most {MAX_ACTIONS} are done at once. Nothing was done. Leave some"
            " for the next answer."
        )
    return Step(**_sections(parts), actions=tuple(actions), unsaved=unsaved, note=_unheard(parts, actions))


def parts_of(text: str) -> dict[str, str]:
    """The parts of a step in an answer that cannot be used. Text without headings is reflection."""
    try:
        return _sections(read(text))
    except UnclearError:
        return {}


def beside_calls(text: str) -> tuple[dict[str, str], str]:
    """The parts of a step in a text beside tool calls, and what is wrong with its first block of code, "" if it has none."""
    try:
        parts = read(text)
    except UnclearError:
        return {}, ""
    code = next((part for part in parts if isinstance(part, Fence) and _is_code(part)), None)
    if code is None:
        return _sections(parts), ""
    path = f"`path` {code.path} and" if code.path else "its path and"
    how = f"If it was meant for a file, call `write` with {path} this text, or `edit`."
    return _sections(parts), f"{_capital(code.opening)} is no tool call: no file has its code. {how}"


def call_note(text: str) -> str:
    """What is told of a text that may hold a call; "" for others. To read it is the work of the model's server, and its operator's concern."""
    return "A call that is written into the text, as JSON or in tags, is none." if _WRITTEN_CALL.search(text) else ""


def _actions(parts: Sequence[Fence | TextLine], target: str) -> tuple[list[Action], str]:
    """The actions, and what is wrong with the first block of code that is none. Raises UnclearError."""
    actions: list[Action] = []
    unsaved = ""
    for part in parts:
        if not isinstance(part, Fence):
            continue
        if not part.closed:
            raise UnclearError(f"{part.unclosed}{f' {_FOUR}' if actions else ''}")
        acts = list(_of_block(part))
        if actions and not acts:
            raise UnclearError(
                f"It is unclear what is meant by {part.opening}: it follows an action, and is none. {_FOUR} Leave out"
                " what you only show. Send the answer again so."
            )
        actions += acts
        unsaved = unsaved or (_unsaved(part, target) if not acts and _is_code(part) else "")
    last = next((part for part in reversed(parts) if isinstance(part, Fence) or part.text.strip()), None)
    if isinstance(last, TextLine) and _SUBMIT.fullmatch(last.text) and "submit" not in [a.kind for a in actions]:
        actions.append(Action(kind="submit"))
    return actions, unsaved


def _of_block(block: Fence) -> Iterator[Action]:
    """The actions of a block, none if it only shows something. Raises UnclearError."""
    word = block.language
    try:
        if _SUBMIT.fullmatch(block.text) or (block.info.lower() == "submit" and not block.text.strip()):
            yield Action(kind="submit")
        elif word in (*SHELLS, "search") and block.info.lower() != word:
            raise ValueError(
                f"a `{word}` block has nothing behind `{word}`. A block that writes a script is opened with its path alone"
            )
        elif word in SHELLS:
            yield action("run", {"command": block.text.removesuffix("\n")})
        elif word == "search":
            yield action("search", {"query": block.text.strip()})
        elif block.path and block.is_change:
            yield from _edits(block)
        elif block.path and not block.is_diff:
            yield action("write", {"path": block.path, "text": block.text})
    except ValueError as wrong:
        raise UnclearError(f"Of {block.opening}: {str(wrong).rstrip('.')}.") from None


def _edits(block: Fence) -> Iterator[Action]:
    """The changes in a block. Raises ValueError."""
    lines = [f"{line}\n" for line in block.text.split("\n")[:-1]]
    marks = [(at, line.rstrip()) for at, line in enumerate(lines) if line.rstrip() in (SEARCH, BETWEEN, REPLACE)]
    if [mark for _, mark in marks] != [SEARCH, BETWEEN, REPLACE] * (len(marks) // 3) or not marks:
        raise ValueError(f"a change has the lines `{SEARCH}`, `{BETWEEN}` and `{REPLACE}`, once each and in this order")
    outside = 0
    for at in range(0, len(marks), 3):
        (first, _), (middle, _), (last, _) = marks[at : at + 3]
        if "".join(lines[outside:first]).strip():
            raise ValueError("a block of changes has nothing before, between or behind them")
        outside = last + 1
        old, new = "".join(lines[first + 1 : middle]), "".join(lines[middle + 1 : last])
        yield action("edit", {"path": block.path, "old": old, "new": new}, whole_lines=True)
    if "".join(lines[outside:]).strip():
        raise ValueError("a block of changes has nothing before, between or behind them")


def _unsaved(block: Fence, target: str) -> str:
    meant = "a change" if block.is_change else "the whole text of a file"
    how = f"If it was meant as {meant}, open it with the file's path and nothing behind it, such as ```python {target}."
    if block.is_diff:
        how = f"A diff is not applied: write the change as lines between `{SEARCH}`, `{BETWEEN}` and `{REPLACE}`."
    return f"{_capital(block.opening)} is no action: no file has its code. {how}"


def _no_action(block: Fence) -> str:
    return f"{_capital(block.opening)} is none{', nor is a block within it' if within(block) else ''}."


def _unheard(parts: Sequence[Fence | TextLine], actions: Sequence[Action]) -> str:
    """A note where the word for handing in is a line above others, or part of a line behind the last block, so that it was not heard; ""
    otherwise."""
    if any(each.kind == "submit" for each in actions):
        return ""
    behind = max((at for at, part in enumerate(parts) if isinstance(part, Fence)), default=-1)
    lines = ((at, part.text) for at, part in enumerate(parts) if isinstance(part, TextLine))
    if not any(_WORD.search(line) if at > behind else line.strip(" *_`.#") == "SUBMIT" for at, line in lines):
        return ""
    return "SUBMIT is not alone on the last line of your answer: the targets were not handed in."


def _capital(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _is_code(block: Fence) -> bool:
    return block.language in PYTHON or block.is_diff or block.is_change


def _sections(parts: Iterable[Fence | TextLine]) -> dict[str, str]:
    """The parts of a step in an answer: what stands below their headings, the rest is reflection. Blocks that act are left out."""
    sections: dict[str, list[str]] = {}
    word = "reflection"
    for part in parts:
        if isinstance(part, Fence):
            continue
        title = part.text.strip(" *_:").lower() if part.heading else ""
        if title in PARTS:
            word = title
        elif title not in ("action", "actions"):
            sections.setdefault(word, []).append(part.text)
    texts = {name: "\n".join(lines).strip() for name, lines in sections.items()}
    for name, text in texts.items():
        before, _, last = text.rpartition("\n")
        texts[name] = before.strip() if _SUBMIT.fullmatch(last) else text
    return {name: text for name, text in texts.items() if text}


def render(step: Step) -> str:
    """An answer in this form from which `read_text` restores the actions of a step. Raises ValueError for an action that it cannot hold:
    `list`, `read` and `grep` are commands of a shell here."""
    pieces = [f"### {name.capitalize()}\n\n{value}" for name in PARTS if (value := getattr(step, name))]
    for act in step.actions:
        arguments = act.arguments
        if act.kind == "submit":
            pieces.append("SUBMIT")
        elif act.kind == "run":
            pieces.append(_block("bash", f"{arguments['command']}\n"))
        elif act.kind == "search":
            pieces.append(_block("search", f"{arguments['query']}\n"))
        elif act.kind == "write":
            pieces.append(_block(_info(arguments["path"]), arguments["text"]))
        elif act.kind == "edit":
            change = f"{SEARCH}\n{arguments['old']}{BETWEEN}\n{arguments['new']}{REPLACE}\n"
            pieces.append(_block(_info(arguments["path"]), change))
        else:
            raise ValueError(f"the text form has no {act.kind}")
    return "\n\n".join(pieces) + "\n"


def _info(path: str) -> str:
    return f"python {path}" if path.endswith(".py") else path


def _block(info: str, text: str) -> str:
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{text}{fence}"

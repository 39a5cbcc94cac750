"""The prompt of a model researcher, and the call that sends it: as much of its longest sections as fits into the context window."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_recode.faults import ModelError
from pytest_recode.feedback import test_output
from pytest_recode.feedback.levels import tally
from pytest_recode.feedback.model_answers import STYLE, WORDS, Style
from pytest_recode.models import Message, Model, Reply
from pytest_recode.models.prompt_size import CHARACTERS, answer_of, learned_window, room_in, tokens_of, window_of
from pytest_recode.program import source
from pytest_recode.researchers import prompts
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Verdict

MOST_SECTION = 60_000
"""Maximum characters of each section of the prompt, because a candidate may have any size."""
SHORTENED = ("PAPER", "REPOSITORY", "CANDIDATE", "VERDICT")
"""Sections that are shortened for the context window, in this order: without the others, a model cannot know what is wrong."""
_SHORTEST = 1_000
"""Characters of a section below which it is left out."""


@dataclass(slots=True, kw_only=True)
class Refusals:
    """`window`: the context window in tokens, as far as refused prompts of the episode have shown it."""

    window: int | None = None


def fitting(
    model: Model, prompt: Callable[[int], Sequence[Message]], most: int, schema: Mapping[str, Any], refusals: Refusals
) -> tuple[Reply, int]:
    """The answer to the longest prompt that fits into the model's context window, and its `most`.

    `most`: characters of the sections that may be shortened, together.
    Raises `ModelError` if the prompt does not fit without these sections, or if the model cannot be called.
    """
    while True:
        messages = prompt(most)
        tokens, window = tokens_of(messages, CHARACTERS), window_of(model, refusals.window)
        if window is None or not most or tokens <= room_in(window, answer_of(model)):
            try:
                return model.complete(messages, schema=schema), most
            except ModelError as error:
                refusals.window = learned_window(error, tokens, refusals.window)
                if not most:
                    raise
        most = most * 3 // 4 if most > _SHORTEST else 0


def prompt(
    task: Task,
    parts: Parts,
    candidate: Files,
    verdict: Verdict,
    style: Style = STYLE,
    most: int = MOST_SECTION * len(SHORTENED),
) -> list[Message]:
    """The messages for the model. A pure function, so that a run can be repeated."""
    key, text = framed(sections(task, parts, candidate, verdict, style), most)
    ask = prompts.ASK.format(sections=text, interfaces=", ".join(verdict.failing_interfaces))
    if style.scope == "all" and (others := sound(verdict)):
        ask += prompts.OTHERS.format(interfaces=", ".join(others))
    return [
        Message(role="system", content=_system(style, key)),
        Message(role="user", content=ask + (_block(style) if parts.slot is not None else "")),
    ]


def _block(style: Style) -> str:
    return prompts.BLOCK + (prompts.BLOCK_CORRECTION if style.corrections else "")


def framed(material: Mapping[str, str], most: int) -> tuple[str, str]:
    """The key of the sections' marks, and the sections between them, bounded: those of `SHORTENED` together to `most` characters."""
    # No text can contain its own digest, so no section can forge its END.
    key = hashlib.sha256("\0".join(material.values()).encode(errors="surrogatepass")).hexdigest()[:16]
    excess = shortenable(material) - most
    shown = []
    for name, text in material.items():
        length = min(len(text), MOST_SECTION)
        if name in SHORTENED and excess > 0:
            length = length - excess if length - excess >= _SHORTEST else 0
            excess -= min(len(text), MOST_SECTION) - length
        if text:
            shown.append(prompts.SECTION.format(name=name, key=key, text=_bounded(text, length)))
    return key, "\n".join(shown)


def shortenable(material: Mapping[str, str]) -> int:
    """Characters of the sections that may be shortened."""
    return sum(min(len(material[name]), MOST_SECTION) for name in SHORTENED)


def sections(task: Task, parts: Parts, candidate: Files, verdict: Verdict, style: Style) -> dict[str, str]:
    """The material of the prompt, by name."""
    return {
        "PAPER": parts.paper or "",
        "INSTRUCTION": parts.instruction,
        "REPOSITORY": repository(parts),
        "REFERENCE": shown_files(parts.reference, files_of(task, parts.reference)),
        "CANDIDATE": shown_files(candidate, files_of(task, candidate)),
        "VERDICT": tally(verdict) + (test_output.full(verdict, task.targets) if style.test_output else ""),
    }


def sound(verdict: Verdict) -> tuple[str, ...]:
    """The interfaces whose cases all passed."""
    failing = verdict.failing_interfaces
    return tuple(name for name in dict.fromkeys(case.interface for case in verdict.cases) if name not in failing)


def words_of(style: Style) -> str:
    """What the text fields may hold."""
    if not style.may_have_code:
        return prompts.WORDS_ALONE
    alone = [name for name in WORDS if name not in style.may_have_code]
    return prompts.WORDS_WITH_CODE.format(
        fields=" and ".join(name for name in WORDS if name in style.may_have_code),
        others=f"{' and '.join(alone)} may not: there, use words and names alone; " if alone else "",
    )


def _system(style: Style, key: str) -> str:
    tests = prompts.WITH_TESTS if style.test_output else prompts.WITHOUT_TESTS
    correction = prompts.CORRECTION[style.corrections]
    return prompts.SYSTEM.format(
        key=key, records=prompts.RECORDS[style.scope], words=words_of(style), tests=tests, **correction
    )


def repository(parts: Parts) -> str:
    """The files of the repository, with the functions and classes of each."""
    lines = []
    for path, data in parts.repo.items():
        tree = source.parse(data).tree if path.endswith(".py") else None
        names = [node.name for node in (tree.body if tree else ()) if isinstance(node, source.Definition)]
        lines.append(f"{path}: {', '.join(names)}" if names else path)
    return "\n".join(lines)


def files_of(task: Task, files: Files) -> tuple[str, ...]:
    """The names to show: the targets; all text files for a task whose targets are directories, and whose reference is a script."""
    if task.oracle.isolation != "verifier":
        return task.targets
    return tuple(sorted(path for path, data in files.items() if b"\0" not in data))


def shown_files(files: Files, names: Sequence[str]) -> str:
    """The text of each file below its name."""
    shown = []
    for name in names:
        text = files[name].decode(errors="replace") if name in files else "(no such file)"
        shown.append(f"### {name}\n{text}")
    return "\n\n".join(shown)


def _bounded(text: str, most: int) -> str:
    """The beginning and the end of a text that has more than `most` characters, and how many are left out between them."""
    if len(text) <= most:
        return text
    half = most // 2
    end = text[-half:] if half else ""
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{end}"

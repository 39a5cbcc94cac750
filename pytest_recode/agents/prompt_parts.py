"""Sizes of the parts of an agent's first prompt, for people who write a task. Called by `pytest-recode preview`; no agent uses it.

A part is found in the prompt by its text, which the functions that build prompts return. Text of a prompt that is no such part
counts as the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_recode.agents.memory import size_of_tools
from pytest_recode.agents.one_shot import repository_text
from pytest_recode.agents.prompt_texts import brief_sections, targets_text
from pytest_recode.agents.recode_h import numbered
from pytest_recode.agents.step_log import clean
from pytest_recode.models import Message, Tool
from pytest_recode.models.prompt_size import CHARACTERS, OF_EACH_MESSAGE
from pytest_recode.task import Brief


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    """`tokens` is an estimate."""

    name: str
    characters: int
    tokens: int


def parts_of(messages: Sequence[Message], tools: Sequence[Tool], brief: Brief) -> tuple[PromptPart, ...]:
    """The parts of a first prompt that are not empty. Their tokens add up to the estimate of the agents' memory (`tokens_of`)."""
    sizes = {
        "system prompt": sum(len(message.content) for message in messages if message.role == "system"),
        "tools": size_of_tools(tools),
    }
    rest = 0
    for message in messages:
        if message.role != "system":
            rest += len(message.content)
            for name, size in _located(message.content, brief):
                sizes[name] = sizes.get(name, 0) + size
                rest -= size
    sizes["rest: headings, form of the answer, budget"] = rest
    parts, before = [], 0
    for name, size in sizes.items():
        if size:
            tokens = math.ceil((before + size) / CHARACTERS) - math.ceil(before / CHARACTERS)
            parts.append(PromptPart(name=name, characters=size, tokens=tokens))
            before += size
    added = OF_EACH_MESSAGE * len(messages)
    return (*parts, PromptPart(name=f"added for {len(messages)} messages", characters=0, tokens=added))


def _located(content: str, brief: Brief) -> Iterator[tuple[str, int]]:
    """The parts in a message, in their order, with their sizes in characters."""
    at = 0
    for name, texts in _texts(brief):
        for text in filter(None, map(clean, texts)):
            if (found := content.find(text, at)) >= 0:
                yield name, len(text)
                at = found + len(text)
                break


def _texts(brief: Brief) -> Iterator[tuple[str, Sequence[str]]]:
    """Each part, in the order of prompts, with the texts of which an agent's prompt may have one."""
    sections, with_files = brief_sections(brief), brief_sections(brief, workspace=True)
    targets = {path: brief.repo[path] for path in brief.targets if path in brief.repo}
    yield "paper", (sections.get("paper", ""), (brief.paper or "").strip())
    yield "instruction", (sections["instruction"], brief.instruction.strip())
    for name in ("targets", "interfaces"):
        yield f"names of the {name}", (sections.get(name, ""),)
    yield "list of the repository's files", (with_files["listing"], sections["listing"])
    lines = "\n\n".join(numbered(path, targets.get(path)) for path in brief.targets)
    yield "current targets", (targets_text(brief, targets), lines)
    yield "the repository's files", (repository_text(brief),)

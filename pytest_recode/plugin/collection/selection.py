"""Warnings about names that select no task: in `-m` and `-k`, of which pytest says nothing, and a task's misspelt domain. Called at collection."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from pytest_recode.plugin.collection.items import TaskItem
from pytest_recode.wording import guess, some_of

DOMAINS = ("ml", "nlp", "cv", "science")
"""The domains that docs/reference/task-format.md names."""
_MOST_SHOWN = 10
_OPERATORS = frozenset({"and", "or", "not"})


def unknown_in_marker(expression: str, items: Sequence[pytest.Item], subsets: Collection[str] = ()) -> list[str]:
    """A line for each key, and each value of a key, in `-m recode(key=value)` that no mark of a task has. `subsets`: of all tasks.

    Expressions that pytest accepts and Python cannot parse are not checked.
    """
    marks = [mark.kwargs for item in items if isinstance(item, TaskItem) for mark in item.iter_markers("recode")]
    known: dict[str, set[Any]] = {}
    for mark in marks:
        for key, value in mark.items():
            known.setdefault(key, set()).add(value)
    lines = []
    for key, value in _arguments(expression) if known and "recode(" in expression else ():
        if key not in known:
            keys = sorted(known)
            lines.append(f"-m recode({key}=…): no task has {key!r}{guess(key, keys)}: choose from {', '.join(keys)}")
        elif key == "subset" and value in subsets and value not in known[key]:
            lines.append(
                f"-m recode(subset={value!r}): these tasks are not collected by default: use --recode-subset={value}"
            )
        elif value not in known[key]:
            lines.append(f"-m recode({key}={value!r}): {_choices(key, value, known[key])}")
    return list(dict.fromkeys(lines))


def unknown_subset(subset: str | None, known: Iterable[str]) -> list[str]:
    """A line if `--recode-subset` names a subset that no task has."""
    choices = sorted(known)
    if subset is None or subset in choices:
        return []
    hint = f": choose from {', '.join(choices)}" if choices else ": leave it out"
    return [f"--recode-subset={subset}: no task has this subset{guess(subset, choices)}{hint}"]


def misspelt_domains(items: Sequence[pytest.Item]) -> list[str]:
    """A line for each task whose domain is almost one of `DOMAINS`. A domain may be any word, so this is no error."""
    tasks = {item.task.id: item.task.domain for item in items if isinstance(item, TaskItem)}
    return [
        f"{task}: domain: {domain}{meant}"
        for task, domain in tasks.items()
        if domain and domain not in DOMAINS and (meant := guess(domain, DOMAINS))
    ]


def _choices(key: str, value: object, known: Iterable[Any]) -> str:
    choices = sorted(
        (choice for choice in known if choice not in ("", None)), key=lambda choice: (str(type(choice)), choice)
    )
    if not choices:
        return f"no selected task has a {key}: leave it out"
    meant = guess(value, [choice for choice in choices if isinstance(choice, str)]) if isinstance(value, str) else ""
    return f"no task has this {key}{meant}: choose from {some_of([repr(choice) for choice in choices], _MOST_SHOWN)}"


def unknown_in_keywords(expression: str, items: Sequence[pytest.Item]) -> list[str]:
    """A line for each word in `-k` that no item has. Called if `-k` and `-m` selected none of `items`."""
    tasks = {item.task.id: item for item in items if isinstance(item, TaskItem)}
    names = {name.lower() for item in items for name in _names(item)}
    keywords = {name: None for item in tasks.values() for name in (item.task.id, *item.extra_keyword_matches)}
    if not tasks:
        return []
    unknown = [
        word
        for word in dict.fromkeys(re.findall(r"[^\s()]+", expression))
        if word not in _OPERATORS and not any(word.lower() in name for name in names)
    ]
    return [
        f"-k {word}: nothing has this name{guess(word, list(keywords))}: choose from ids of tasks"
        f" ({some_of(sorted(tasks), _MOST_SHOWN)}), domains, tags, difficulties, models and feedback"
        for word in unknown
    ]


def _names(item: pytest.Item) -> Iterator[str]:
    """All that `-k` compares with."""
    yield from (node.name for node in item.listchain())
    yield from item.listextrakeywords()
    yield from (mark.name for mark in item.iter_markers())


def _arguments(expression: str) -> Iterator[tuple[str, Any]]:
    """The keys and values of each `recode(…)` in an expression."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "recode":
            for keyword in node.keywords:
                with suppress(ValueError):  # pytest refuses other values
                    if keyword.arg:
                        yield keyword.arg, ast.literal_eval(keyword.value)

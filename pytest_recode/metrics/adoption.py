"""Adoption: for each item of feedback, whether the next turn followed it, and whether its interface then passed.

Judged by rule, from the verdicts and targets of two turns, for every run with transcripts. The paper used a model (RECODE-H, arXiv
2510.06186, analysis of feedback adoption); `metrics/adoption_by_model.py` does so on request.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.episode import Feedback, FeedbackItem
from pytest_recode.metrics.intervals import Interval, of_share
from pytest_recode.program import source
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.program.source import Definition, FileVersion, statements
from pytest_recode.records.transcript_lines import FeedbackLine, TurnLine
from pytest_recode.records.transcript_reader import lines_of

YES, PARTIAL, NO = ANSWERS = ("yes", "partial", "no")

_QUOTED = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[^\W\d]\w*")
_IDENTIFIER = re.compile(r"_|\d|(?<=[a-z])[A-Z]")
"""Marks of a name that is not a plain word: `log_norm`, `x2`, `logSum`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackPair:
    """A failed turn, the feedback on it, and the next turn, of one transcript. Feedback at L0 has no items, and no FeedbackPair."""

    feedback: Feedback
    before: TurnLine
    after: TurnLine

    @property
    def level(self) -> str:
        return f"L{self.feedback.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One item of feedback with its judgement. `adopted` and `resolved` are "yes", "partial" or "no"."""

    interface: str
    level: str  # L1 … L4
    category: str  # T0 … T4; "": none
    adopted: str
    resolved: str
    task: str = ""  # "": unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Counts over items: adopted and resolved ones, wholly and partly, and those that are both."""

    items: int
    adopted: int
    adopted_partly: int
    resolved: int
    resolved_partly: int
    both: int  # adopted (wholly or partly) and resolved
    interval: Interval  # 95 % interval of the adopted share, by tasks


def rate(advice: Sequence[Advice]) -> Rate:
    """Count judgements. Adoption rate = adopted / items; resolution rate = resolved / items."""
    sums: dict[str, tuple[int, int]] = {}
    for one in advice:
        adopted, items = sums.get(one.task, (0, 0))
        sums[one.task] = (adopted + (one.adopted == YES), items + 1)
    return Rate(
        items=len(advice),
        adopted=sum(one.adopted == YES for one in advice),
        adopted_partly=sum(one.adopted == PARTIAL for one in advice),
        resolved=sum(one.resolved == YES for one in advice),
        resolved_partly=sum(one.resolved == PARTIAL for one in advice),
        both=sum(one.resolved == YES and one.adopted != NO for one in advice),
        interval=of_share(sums.values(), tasks=len(sums), attempts=len(advice)),
    )


def read(transcript: Path | None) -> tuple[FeedbackPair, ...] | None:
    """The pairs of a transcript; None without a transcript."""
    if transcript is None:
        return None
    lines = lines_of(transcript, "turn", "feedback")
    return pairs(line.feedback if isinstance(line, FeedbackLine) else line for line in lines)


def pairs(lines: Iterable[TurnLine | Feedback]) -> tuple[FeedbackPair, ...]:
    """Of a resumed run, the latest line of a turn counts."""
    turns: dict[int, TurnLine] = {}
    feedback: dict[int, Feedback] = {}
    for line in lines:
        if isinstance(line, Feedback):
            feedback[line.turn] = line
        else:
            turns[line["turn"]] = line
    return tuple(
        FeedbackPair(feedback=feedback[number], before=turns[number], after=turns[number + 1])
        for number in sorted(feedback)
        if feedback[number].level > 0 and {number, number + 1} <= turns.keys()
    )


def by_rule(pair: FeedbackPair) -> tuple[Advice, ...]:
    """Judge each item by the agent's changes to its interface, or to the interface that the item names as its cause.

    adopted: "no" if the code of the interface is the same program before and after; otherwise "yes" if it now contains at least
    half of the new names in the feedback (or there are none, or the interface equals the shown correction); otherwise
    "partial".
    """
    results = []
    for item in pair.feedback.items:
        name = item.interface
        advised = item.caused_by or name
        before, after = code_of(pair.before["targets"], advised), code_of(pair.after["targets"], advised)
        adopted = NO if before == after else PARTIAL
        if adopted == PARTIAL:
            new = named(item, pair.level) - before.names
            if 2 * len(new & after.names) >= len(new) or _as_corrected(item, pair):
                adopted = YES
        results.append(advice(pair, item, adopted, resolved(pair, name), item.category))
    return tuple(results)


def advice(pair: FeedbackPair, item: FeedbackItem, adopted: str, resolved: str, category: str) -> Advice:
    return Advice(interface=item.interface, level=pair.level, category=category, adopted=adopted, resolved=resolved)


def resolved(pair: FeedbackPair, interface: str) -> str:
    """ "yes" if every hidden case of the interface passes after, "partial" if more pass than before, otherwise "no"."""
    before, after = _cases(pair.before, interface), _cases(pair.after, interface)
    if after and all(after):
        return YES
    return PARTIAL if sum(after) > sum(before) else NO


def _cases(turn: TurnLine, interface: str) -> list[bool]:
    return [case["outcome"] == "passed" for case in turn["cases"] if case["interface"] == interface]


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """An interface's own code: its definition and the code of its file that it uses, as programs (without comments, layout and
    docstrings), with their names. If the file does not parse, its text."""

    programs: tuple[str, ...]
    names: frozenset[str]


def code_of(targets: Mapping[str, str], interface: str) -> Code:
    """The interface's own code; its whole file if the file does not define it; all targets if none is its file (a unittest case)."""
    file = file_of(interface, tuple(targets))
    if file is None:
        parts = [_whole(_parsed(targets, path)) for path in sorted(targets)]
        return Code(
            programs=tuple(text for part in parts for text in part.programs),
            names=frozenset().union(*(part.names for part in parts)),
        )
    parsed = _parsed(targets, file)
    path = path_within(interface, file)
    start = source.definition(parsed, path)
    if parsed.tree is None or start is None:
        return _whole(parsed)
    return _of_nodes(_closure(parsed.tree, path, start))


def named(item: FeedbackItem, level: str) -> frozenset[str]:
    """The names that an item mentions at a level: in backticks, or with the form of an identifier; in the correction, all names."""
    shown = int(level[1:])
    names: set[str] = set()
    for text in (item.description, item.analysis, item.suggestion)[:shown]:
        for quoted in _QUOTED.findall(text):
            names.update(_NAME.findall(quoted))
        names.update(name for name in _NAME.findall(text) if _IDENTIFIER.search(name))
    if shown >= 4:
        for code in (item.correction, *item.elsewhere.values()):
            tree = source.parse(code.encode(errors="replace")).tree
            names |= _names(tree) if tree is not None else set()
    return frozenset(names)


def _as_corrected(item: FeedbackItem, pair: FeedbackPair) -> bool:
    """Whether the candidate now has the definitions of the shown correction."""
    tree = source.parse(item.correction.encode(errors="replace")).tree if pair.level == "L4" else None
    definitions = [node for node in tree.body if isinstance(node, Definition)] if tree is not None else []
    file = file_of(item.interface, tuple(pair.after["targets"]))
    if not definitions or file is None:
        return False
    now = _parsed(pair.after["targets"], file)
    return all(source.same(node, source.definition(now, (node.name,))) for node in definitions)


def _parsed(targets: Mapping[str, str], path: str) -> FileVersion:
    return source.parse(targets[path].encode(errors="replace"))


def _whole(parsed: FileVersion) -> Code:
    if parsed.tree is None:
        return Code(programs=(parsed.text or parsed.problem,), names=frozenset(_NAME.findall(parsed.text)))
    return _of_nodes(parsed.tree.body)


def _of_nodes(nodes: Sequence[ast.stmt]) -> Code:
    names: set[str] = set()
    for node in nodes:
        names |= _names(node)
    return Code(programs=tuple(source.dumped(node) for node in nodes), names=frozenset(names))


def _closure(tree: ast.Module, path: Sequence[str], start: Definition) -> list[ast.stmt]:
    """`start` with the statements of its file and the methods of its class that it names, directly or indirectly, in file order."""
    places = _places(tree.body)
    methods: Mapping[str, Sequence[ast.stmt]] = {}
    if len(path) > 1:
        places.pop(path[0], None)  # of its own class, only methods that it names
        owner = source.definition(FileVersion(text="", tree=tree), path[:-1])
        methods = _places(statements(owner.body)) if owner is not None else {}
    nodes: dict[int, ast.stmt] = {}
    pending: list[ast.stmt] = [start]
    while pending:
        node = pending.pop()
        if id(node) in nodes:
            continue
        nodes[id(node)] = node
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                pending += places.get(child.id, ())
            elif isinstance(child, ast.Attribute):
                pending += methods.get(child.attr, ())
    return sorted(nodes.values(), key=lambda node: (node.lineno, node.col_offset))


def _places(body: Iterable[ast.stmt]) -> dict[str, list[ast.stmt]]:
    places: dict[str, list[ast.stmt]] = {}
    for node in body:
        for name in source.bound(node):
            places.setdefault(name, []).append(node)
    return places


def _names(node: ast.AST) -> set[str]:
    names = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            names.add(child.id)
        elif isinstance(child, ast.Attribute):
            names.add(child.attr)
        elif isinstance(child, Definition):
            names.add(child.name)
        elif isinstance(child, ast.arg | ast.keyword) and child.arg is not None:
            names.add(child.arg)
    return names

"""The summary of a run as Markdown: scores, the comparison with a baseline, errors. Texts of a run cannot add markup to it.

Called at the end of a session with `--recode-markdown`, and on GitHub Actions. Pure functions.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.baseline import name
from pytest_recode.metrics.gate_comparison import Gate, RowGate
from pytest_recode.metrics.score import Score
from pytest_recode.records.episode_summary import EpisodeSummary
from pytest_recode.records.record import cause, main_line
from pytest_recode.render import gate_lines as gate_lines
from pytest_recode.render.summary_tables import COLUMNS, TEXTS, effort_rows, heads
from pytest_recode.render.words import error_kind_text, plural, unparsed
from pytest_recode.verdict import legible

_MARKUP = str.maketrans({char: f"\\{char}" for char in string.punctuation if char not in ",%/;'?=^"})
_MOST_TASKS = 100
_MOST_CHARACTERS = 400
_OF_A_LIST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """An error, with the episodes that it ended. `message` is one line."""

    kind: str
    message: str
    nodeids: tuple[str, ...]


def faults(records: Sequence[EpisodeSummary]) -> list[ErrorGroup]:
    """The different errors of a run, the most frequent first."""
    by_message: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record["error"]:
            kind = record["error"]["kind"]
            by_message.setdefault((kind, main_line(cause(record["error"]), kind)), []).append(record["nodeid"])
    listed = [
        ErrorGroup(kind=kind, message=message, nodeids=tuple(sorted(ids)))
        for (kind, message), ids in by_message.items()
    ]
    return sorted(listed, key=lambda fault: (-len(fault.nodeids), fault.nodeids))


def summary(
    scores: Sequence[Score],
    records: Sequence[EpisodeSummary],
    *,
    planned: int,
    gate: Gate | None,
    tests: Sequence[tuple[str, bool]],
    refused: str = "",
) -> str:
    """The whole page.

    `planned`: episodes that should have ended; `tests`: further tests at the end, and whether they passed; `refused`: why nothing was played.
    """
    blocks = [f"## pytest-recode: {_counts(records, planned)}"]
    blocks += [f"{_mark(False)}: nothing was played: {text(refused, _OF_A_LIST)}"] if refused else []
    blocks += _scores(scores)
    blocks += [f"{_mark(passed)}: {text(words)}" for words, passed in tests]
    blocks += [text(line) for line in unparsed(records)]
    blocks += _gate(gate) if gate else []
    if errors := faults(records):
        blocks += ["### Errors, not counted above", "\n".join(map(_fault, errors))]
    return "\n\n".join(blocks) + "\n"


def text(words: str, most: int = _MOST_CHARACTERS) -> str:
    """`words` unchanged, on one line of at most `most` characters. Markup, links, HTML, formulas and control characters in them have no effect."""
    shown = words if len(words) <= most else f"{words[:most]} …"
    return legible(" ".join(shown.split()), keep="").translate(_MARKUP)


def _counts(records: Sequence[EpisodeSummary], planned: int) -> str:
    ended = [record["outcome"] for record in records]
    counts = [f"{ended.count('solved')} solved", f"{ended.count('unsolved')} unsolved"]
    counts += [f"{ended.count('error')} with an error"] if "error" in ended else []
    counts += [f"{planned - len(ended)} without a record"] if planned > len(ended) else []
    return f"{plural(planned, 'episode')}: {', '.join(counts)}"


def _scores(scores: Sequence[Score]) -> Iterator[str]:
    if not scores:
        return
    shown = heads(scores)
    rows = [[text(COLUMNS[head](score)) for head in shown] for score in scores]
    yield _table(["tasks", *shown], [[text(score.row.format), *row] for score, row in zip(scores, rows, strict=True)])
    if efforts := effort_rows(scores):
        texts = [head for head in shown if head in TEXTS]
        names = [
            ("effort", *texts),
            *((score.row.format, *(COLUMNS[head](score) for head in texts)) for score in scores),
        ]
        cells = [[text(cell) for cell in (*name, *row)] for name, row in zip(names, efforts, strict=True)]
        yield _table(cells[0], cells[1:])
    if any(score.row.simulated for score in scores):
        yield "\\* simulated: an offline model, which says nothing about a real one"


def _gate(gate: Gate) -> Iterator[str]:
    yield "### Compared with the baseline"
    yield f"{_mark(gate.passed)}: {text(gate_lines.conclusion(gate))}"
    heads = ["row", "verdict", "tasks", "% now", "% before", "now - before", "95 %", "p", "lost", "gained"]
    yield _table(heads, [list(_row(row)) for row in gate.rows])
    listed = [
        f"- {text(name(row.key))}: {text(line, _OF_A_LIST)}"
        for row in gate.rows
        for line in gate_lines.details(row, _MOST_TASKS)
    ]
    listed += [f"- {text(line)}" for line in gate_lines.others(gate)]
    if listed:
        yield "\n".join(listed)


def _row(row: RowGate) -> Iterator[str]:
    yield text(name(row.key)) + (" \\*" if row.simulated else "")
    yield text(gate_lines.verdict(row))
    result = row.compared
    if result is None or row.p is None:
        yield from ["0", *["-"] * 7]
        return
    low, high = result.interval
    yield str(result.pairs)
    yield f"{100 * result.first:.1f}"
    yield f"{100 * result.second:.1f}"
    yield f"{100 * result.difference:+.1f}"
    yield f"{100 * low:+.1f} to {100 * high:+.1f}"
    yield f"{row.p:.3f}"
    yield str(len(row.lost))
    yield str(len(row.gained))


def _fault(fault: ErrorGroup) -> str:
    count = len(fault.nodeids)
    return f"- {plural(count, 'episode')}, first {text(fault.nodeids[0])}: {text(error_kind_text(fault.kind))}: {text(fault.message)}"


def _mark(passed: bool) -> str:
    return "**passed**" if passed else "**failed**"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

"""The command `pytest-recode`: what is done with runs when they are over."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pytest_recode import VERSION
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.metrics.attempt import Attempt, Row
    from pytest_recode.render.report_table import Table
    from pytest_recode.task import Task


def main(arguments: Sequence[str] | None = None) -> int:
    """0; 1 for a reader that went away; 2 for a user's fault, which is one line."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        sys.stdout.write(_report(given))
        sys.stdout.flush()
    except UserError as error:
        print(f"pytest-recode: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-recode", description="Runs of pytest-recode, when they are over.")
    parser.add_argument("--version", action="version", version=f"pytest-recode {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    report = commands.add_parser("report", help="the numbers of runs, and of published results beside them")
    report.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a results.jsonl, a directory that holds one, or the overall_stats.json of ResearchCodeBench",
    )
    report.add_argument("--format", choices=("text", "markdown", "csv", "json"), default="text", help="default: text")
    report.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME",
        help="only this table (repeatable): scores, papers, episodes …; csv writes one, the first if none is named",
    )
    report.add_argument(
        "--model", action="append", default=[], metavar="TEXT", help="only rows whose model contains TEXT (repeatable)"
    )
    report.add_argument(
        "--tasks",
        nargs="+",
        action="extend",
        default=[],
        type=Path,
        metavar="DIR",
        help="the tasks that were played (directories or manifests): what was not played is missing, and the table code is made",
    )
    report.add_argument(
        "--codebertscore",
        action="store_true",
        help="CodeBERTScore in the table code: needs --tasks, the extra codebertscore, and a model of some 500 MB, which it downloads",
    )
    report.add_argument(
        "--common", action="store_true", help="compare on the tasks alone that every row of a benchmark played"
    )
    report.add_argument(
        "--hard-threshold",
        type=_share,
        default=1 / 3,
        metavar="SHARE",
        help="HARD is what a smaller share of the published models solves (default: 1/3)",
    )
    return parser


def _share(value: str) -> float:
    """A fraction or a decimal in (0, 1]; what comes with an argparse error is one line."""
    number, _, below = value.partition("/")
    try:
        share = float(number) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        share = -1.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{value!r} is no share such as 1/3 or 0.25")
    return share


def _report(given: argparse.Namespace) -> str:
    # What argparse refuses, and --help, need none of this
    from pytest_recode.metrics.passing import passed
    from pytest_recode.metrics.reading import read
    from pytest_recode.metrics.rows import rows
    from pytest_recode.render import (
        report,
        report_episodes,
        report_faults,
        report_feedback,
        report_pairs,
        report_snippets,
        report_table,
    )

    sources = read(given.files)
    notes = [note for source in sources for note in source.notes]
    attempts = [attempt for source in sources for attempt in source.attempts]
    everything = rows([attempt for attempt in attempts if attempt.replay is None])
    replays = rows([attempt for attempt in attempts if attempt.replay is not None])
    shown, replayed = _chosen(everything, given.model), _chosen(replays, given.model)
    if not shown and not replayed:
        models = ", ".join(dict.fromkeys(row.model for row in [*everything, *replays]))
        raise UserError(
            f"--model={given.model[0]}: no such row: there are {models}" if models else "no episode to report"
        )
    notes += _left_out([*everything, *replays], [*shown, *replayed], given.model)
    tasks = _Tasks.below(given.tasks)
    notes += tasks.notes
    if given.common:
        before = shown
        shown = {**report_table.common(shown)}
        if not any(shown.values()):
            raise UserError("--common: no task was played by every row: leave it out, or give fewer files")
        notes.append("--common: only tasks that every row of the same benchmark played")
        notes += [
            f"--common: {report_table.plural(lost, 'task')} of {report_table.name(row)} left out"
            for row in shown
            if (lost := len(report_table.tasks(before[row]) - report_table.tasks(shown[row])))
        ]
    with_lines = {row: group for row, group in shown.items() if group and all(attempt.snippet for attempt in group)}
    own = {row: group for row, group in shown.items() if group and not row.published}
    best = max(with_lines, key=lambda row: passed(with_lines[row], intervals=False).scaled or 0, default=None)
    detail = list(shown) if given.model else [row for row in with_lines if not row.published]
    # What --common leaves out is left out of what there is to play as well
    known = {} if given.common else tasks.keys
    makers = {
        **report_snippets.tables(
            with_lines,
            everything={row: group for row, group in everything.items() if row in with_lines or row.published},
            detail=detail or ([best] if best else []),
            hard_threshold=given.hard_threshold,
            known=known,
        ),
        **report_episodes.tables(own, known),
        **report_faults.tables(own, known),
        **report_feedback.tables(own),
        **report_pairs.tables(own, replayed, [one for one in attempts if one.replay is None]),
        **_code(given, own, tasks, known),
    }
    for name in given.table:
        if name not in makers:
            more = "; code needs --tasks" if "code" not in makers else ""
            raise UserError(f"--table={name}: no such table here: there are {', '.join(makers)}{more}")
    names = given.table or (list(makers)[:1] if given.format == "csv" else list(makers))
    chosen = [table for name in names if (table := makers[name]()) is not None]
    if not chosen:
        raise UserError(f"--table={names[0]}: these files have nothing to say of it")
    if any(row.simulated for row in [*shown, *replayed]):
        notes.append(
            "* simulated: an offline model that breaks and repairs the reference; it says nothing about a real one"
        )
    if given.format == "csv":
        if len(given.table) > 1:
            raise UserError("--format=csv writes one table: give --table once")
        for note in notes:
            print(f"pytest-recode: {note}", file=sys.stderr)
        return report.as_csv(chosen[0])
    if given.format == "json":
        return report.as_json(chosen, notes)
    return {"text": report.text, "markdown": report.markdown}[given.format](chosen, notes)


def _chosen(rows: Mapping[Row, Sequence[Attempt]], models: Sequence[str]) -> dict[Row, Sequence[Attempt]]:
    return {
        row: attempts
        for row, attempts in rows.items()
        if not models or any(text.lower() in row.model.lower() for text in models)
    }


def _left_out(rows: Sequence[Row], shown: Sequence[Row], models: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(row.model for row in rows if row not in shown))
    if not names:
        return []
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return [f"--model={' --model='.join(models)}: {len(rows) - len(shown)} of {len(rows)} rows left out: {listed}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tasks:
    """What --tasks names: format -> tasks, as Attempts name them."""

    found: Mapping[tuple[str, str], Task]
    notes: tuple[str, ...]

    @classmethod
    def below(cls, paths: Sequence[Path]) -> Self:
        if not paths:
            return cls(found={}, notes=())
        from pytest_recode.formats.finding import find
        from pytest_recode.metrics.reading import task_key

        tasks, notes = find(paths)
        keys = {(task.format, task_key(task.id, task.facts)): task for task in tasks}
        return cls(found=keys, notes=tuple(f"--tasks: {note}" for note in notes))

    @property
    def keys(self) -> dict[str, set[str]]:
        keys: dict[str, set[str]] = {}
        for task_format, key in self.found:
            keys.setdefault(task_format, set()).add(key)
        return keys

    def reference(self, task_format: str, key: str) -> Mapping[str, bytes] | None:
        """None: the task is not here, or cannot be read."""
        task = self.found.get((task_format, key))
        if task is None or task.fault:
            return None
        try:
            return task.load().reference
        except UserError as error:
            print(f"pytest-recode: --tasks: {error}", file=sys.stderr)
            return None


def _code(
    given: argparse.Namespace, rows: Mapping[Row, Sequence[Attempt]], tasks: _Tasks, known: Mapping[str, set[str]]
) -> dict[str, Callable[[], Table | None]]:
    """The table `code`, which needs --tasks, and a package that only whoever asks for the table must have."""
    if given.codebertscore and not given.tasks:
        raise UserError("--codebertscore needs the references: give --tasks DIR too")
    if not given.tasks or not rows:
        return {}
    from pytest_recode.metrics import likeness
    from pytest_recode.render import report_code

    if given.codebertscore:
        likeness.fetch(lambda told: print(f"pytest-recode: {told}", file=sys.stderr, flush=True))
    reference = functools.cache(tasks.reference)
    bert = likeness.codebertscore if given.codebertscore else None
    return {
        "code": lambda: report_code.table(rows, lambda one: reference(one.row.format, one.task), known=known, bert=bert)
    }


if __name__ == "__main__":
    sys.exit(main())

"""The command `pytest-recode report`: tables of the results of runs."""

from __future__ import annotations

import argparse
import functools
import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.cli.report_arguments import LATEST, add_filter, as_text, count, filter_of, or_latest
from pytest_recode.faults import UserError
from pytest_recode.wording import guess

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands
    from pytest_recode.formats.discovery import DiscoveredTasks
    from pytest_recode.metrics.adoption import Advice
    from pytest_recode.metrics.attempt import Attempt, Row
    from pytest_recode.render.report_feedback import Judge
    from pytest_recode.render.report_table import Rows, Table


def add_to(commands: Commands) -> None:
    report = commands.add_parser("report", help="tables of the results of runs, with published results for comparison")
    report.set_defaults(command=_report)
    report.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help=f"a results.jsonl, a directory that contains one, or the overall_stats.json of ResearchCodeBench; {LATEST}",
    )
    report.add_argument(
        "--format", choices=("text", "markdown", "csv", "json", "latex"), default="text", help="default: text"
    )
    report.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME",
        help="show only this table (repeatable), such as episodes, comparisons or costs; csv writes one table, by default the first",
    )
    report.add_argument(
        "--by",
        choices=("date",),
        help="date: show only the table history, runs of equal settings in chronological order, such as nightly runs",
    )
    add_filter(report, "rows", ", and the published rows of RECODE-H")
    report.add_argument(
        "--base",
        metavar="ROW",
        help="compare this row with every other row of its benchmark, including published ones; ROW is a model or a part of a row's name",
    )
    report.add_argument(
        "--tasks",
        nargs="+",
        action="extend",
        default=[],
        type=Path,
        metavar="DIR",
        help="the tasks of the runs (directories or manifests): tasks without an episode count as missing, and the table code is added",
    )
    report.add_argument(
        "--codebertscore",
        action="store_true",
        help="add CodeBERTScore to the table code; requires --tasks and the extra codebertscore, and downloads a model of about 500 MB",
    )
    report.add_argument(
        "--adoption-model",
        metavar="NAME",
        help="let this model judge which feedback was adopted, as RECODE-H did: one call for each turn with feedback; its answers are stored"
        " next to the run",
    )
    report.add_argument(
        "--adoption-sample",
        type=count,
        metavar="N",
        help="judge at most N turns for each row and level (RECODE-H: 60)",
    )
    report.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server for --adoption-model")
    report.add_argument("--common", action="store_true", help="compare only tasks that every row of a benchmark has")
    report.add_argument(
        "--hard-threshold",
        type=_share,
        default=1 / 3,
        metavar="SHARE",
        help="a task is HARD if a smaller share of the published models solves it (default: 1/3)",
    )


def _judge(arguments: argparse.Namespace) -> Judge:
    from pytest_recode.metrics.adoption_by_model import judge
    from pytest_recode.models import ModelContext, litellm_
    from pytest_recode.records.null_ledger import NullLedger

    name, api_base = arguments.adoption_model, arguments.api_base
    litellm_.check(ModelContext(name=name, ledger=NullLedger(), api_base=api_base))

    def judged(rows: Rows) -> tuple[Mapping[Row, Sequence[Advice]], Sequence[str]]:
        found = judge(rows, name, litellm_.make, _print_note, sample=arguments.adoption_sample, api_base=api_base)
        return found.advice, found.notes

    return judged


def _share(value: str) -> float:
    """A fraction or a decimal in (0, 1]. Raises an argparse error of one line."""
    number, _, below = value.partition("/")
    try:
        share = float(number) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        share = -1.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{value!r} is not a share in (0, 1], such as 1/3 or 0.25")
    return share


def _report(arguments: argparse.Namespace) -> str:
    # Imported here, because --help and errors of argparse do not need these modules
    from pytest_recode.cli import report_tables
    from pytest_recode.render import report_latex, report_pairs, report_table, table_formats

    rows = report_tables.rows_of(or_latest(arguments.files), filter_of(arguments))
    gc.freeze()  # the attempts stay until the end, and no collection of garbage is to look at them again
    notes = list(rows.notes)
    tasks = _tasks(arguments.tasks)
    notes += [f"--tasks: its tasks are omitted: {error}" for error in tasks.errors]
    if arguments.common:
        before = len(rows.notes)
        rows = report_tables.only_common(rows)
        notes += rows.notes[before:]
    shown = rows.shown
    makers = {
        **report_tables.makers(
            rows,
            # --common also removes the tasks that it omits from the expected tasks
            known={} if arguments.common else tasks.names,
            base=report_pairs.base_row(shown, arguments.base) if arguments.base else None,
            hard_threshold=arguments.hard_threshold,
            judge=_judge(arguments) if arguments.adoption_model else None,
        ),
        **_code(arguments, rows.own, tasks, notes),
    }
    if arguments.base and arguments.table and not {"comparisons", "turns"} & {*arguments.table}:
        raise UserError(
            "--base requires the table comparisons or turns: add --table=comparisons, or remove --base or --table"
        )
    if arguments.by and arguments.table:
        raise UserError("--by=date shows one table, history: remove --by or --table")
    selected = ["history"] if arguments.by else arguments.table
    for name in selected:
        if name not in makers:
            more = "; code needs --tasks" if "code" not in makers else ""
            raise UserError(
                f"--table={name}: no such table for these files{guess(name, list(makers))}; the tables are {', '.join(makers)}{more}"
            )
    by_default = [name for name in makers if arguments.format == "json" or name not in report_tables.ON_REQUEST]
    names = selected or (by_default[:1] if arguments.format == "csv" else by_default)
    chosen = [table for name in names if (table := makers[name]()) is not None]
    if not chosen:
        hint = (
            "; --base=ROW compares one row with each other one"
            if names[0] == "comparisons" and not arguments.base
            else ""
        )
        raise UserError(f"--table={names[0]}: these files have no data for it{hint}")
    notes += [*report_table.task_sets(shown), *report_table.changed_files(shown)]
    if rows.simulated:
        notes.append(report_tables.SIMULATED)
    if arguments.format == "csv":
        if len(arguments.table) > 1:
            raise UserError("--format=csv writes one table: give --table once")
        for note in notes:
            _print_note(note)
        return table_formats.as_csv(chosen[0])
    if arguments.format == "latex":
        return report_latex.latex(chosen, notes)
    return as_text(chosen, notes, arguments.format)


def _tasks(paths: Sequence[Path]) -> DiscoveredTasks:
    from pytest_recode.formats.discovery import DiscoveredTasks, find
    from pytest_recode.metrics.record_attempts import task_key

    return find(paths, task_key) if paths else DiscoveredTasks()


def _code(
    arguments: argparse.Namespace, rows: Mapping[Row, Sequence[Attempt]], tasks: DiscoveredTasks, notes: list[str]
) -> dict[str, Callable[[], Table]]:
    """The table `code`, if --tasks is given. It needs an optional package, whose absence is an error only if the table is requested."""
    if arguments.codebertscore and not arguments.tasks:
        raise UserError("--codebertscore requires the references: add --tasks DIR")
    if not arguments.tasks or not rows:
        return {}
    from pytest_recode.metrics import code_similarity
    from pytest_recode.render import report_code

    try:
        code_similarity.need("codebleu", "CodeBLEU")
    except UserError as error:
        # The other uses of --tasks need no package
        if "code" in arguments.table:
            raise
        notes.append(f"code: {error}")
        return {}

    @functools.cache
    def reference(task_format: str, name: str) -> Mapping[str, bytes] | None:
        try:
            return tasks.reference(task_format, name)
        except UserError as error:
            _print_note(f"--tasks: {error}")
            return None

    def table() -> Table:
        if arguments.codebertscore:
            code_similarity.fetch(_print_note)
        return report_code.table(
            rows,
            lambda one: reference(one.row.format, one.task),
            known={} if arguments.common else tasks.names,
            bert=code_similarity.codebertscore if arguments.codebertscore else None,
        )

    return {"code": table}


def _print_note(line: str) -> None:
    print(f"pytest-recode: {line}", file=sys.stderr, flush=True)

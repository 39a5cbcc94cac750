"""The table of the final code and its similarity to the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.code_similarity import Codes, codebleu
from pytest_recode.metrics.final import Finals, Pair, finals, mean
from pytest_recode.render.report_table import IDENTITY, Rows, Table, columns, identity, missing, percent

Bert = Callable[[tuple[Pair, ...]], list[float]]
"""CodeBERTScore of each pair."""


def table(
    rows: Rows, reference: Callable[[Attempt], Codes | None], *, known: Mapping[str, Set[str]], bert: Bert | None = None
) -> Table:
    """CodeBLEU of the last turn's targets, with and without comments, and CodeBERTScore if `bert` computes it.

    Raises `UserError` if the package is not installed.
    """
    by_row = {row: finals(attempts, reference) for row, attempts in rows.items()}
    lacking = missing(rows, known)
    left = any(one.no_code or one.no_reference for one in by_row.values())
    notes = ["CodeBLEU, % of 1: means over the episodes with code and reference (docs/reference/metrics.md)"]
    if left:
        notes.append(
            "no code: the transcript is missing, or there was no turn; no reference: the task is not in --tasks;"
            " 'the rest as 0' counts both, and errors, as 0"
        )
    return Table(
        name="code",
        title="The last turn's code against the reference",
        columns=(
            *IDENTITY,
            *columns("percent", codebleu="CodeBLEU", codebleu_bare="without comments"),
            *columns("percent", ngram="n-gram", weighted="weighted", syntax="syntax", dataflow="data flow"),
            *(columns("percent", codebertscore="CodeBERTScore") if bert else ()),
            *columns("count", compared="compared", played="of", no_code="no code", no_reference="no reference"),
            *columns("count", errors="errors", missing="missing"),
            *columns("percent", codebleu_at_least="the rest as 0"),
        ),
        rows=tuple({**identity(row), **_numbers(one, bert), "missing": lacking[row]} for row, one in by_row.items()),
        notes=tuple(notes),
    )


def _numbers(final: Finals, bert: Bert | None) -> dict[str, Any]:
    whole = [codebleu(*pair) for pair in final.pairs]
    bare = [codebleu(*pair, comments=False) for pair in final.pairs]
    return {
        "codebleu": percent(mean([one.codebleu for one in whole])),
        "codebleu_bare": percent(mean([one.codebleu for one in bare])),
        "ngram": percent(mean([one.ngram for one in whole])),
        "weighted": percent(mean([one.weighted for one in whole])),
        "syntax": percent(mean([one.syntax for one in whole])),
        "dataflow": percent(mean([one.dataflow for one in whole])),
        "codebertscore": percent(mean(bert(final.pairs))) if bert else None,
        "compared": len(final.pairs),
        "played": final.played,
        "no_code": final.no_code,
        "no_reference": final.no_reference,
        "errors": final.errors,
        "codebleu_at_least": percent(mean([one.codebleu for one in whole], final.played + final.errors)),
    }

"""Tables as LaTeX, for a paper: with the rules of the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recode.render.report_table import Table
from pytest_recode.render.report_width import LEFT
from pytest_recode.render.table_formats import caption, folded_columns, notes_of
from pytest_recode.verdict import legible

_HEAD = "% needs \\usepackage{booktabs}\n"
_STAR = "*"
_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
    }
)


def latex(tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Each table as a `table` environment with its notes below it.

    Notes on all tables are comments at the end. One that begins with a star is also below each table that has a cell with a star.
    """
    stars = [note for note in notes if note.startswith(_STAR)]
    comments = "".join(f"% {legible(note, keep='')}\n" for note in notes)
    return "\n".join([_HEAD, *(_table(table, stars) for table in tables), comments]).rstrip("\n") + "\n"


def _table(table: Table, stars: Sequence[str]) -> str:
    columns, folded, rows = folded_columns(table)
    starred = any(cell.endswith(f" {_STAR}") for row in rows for cell in row)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escaped(caption(table, folded))}}}",
        rf"  \label{{tab:{table.name}}}",
    ]
    if rows:
        kinds = "".join("l" if column.kind in LEFT else "r" for column in columns)
        lines += [rf"  \begin{{tabular}}{{{kinds}}}", r"    \toprule", _line([column.head for column in columns])]
        lines += [r"    \midrule", *map(_line, rows), r"    \bottomrule", r"  \end{tabular}"]
    lines += [rf"  \par\footnotesize {escaped(note)}" for note in (*notes_of(table), *(stars if starred else ()))]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "    " + " & ".join(map(escaped, cells)) + r" \\"


def escaped(text: str) -> str:
    """A text that LaTeX prints as it is, on one line. A cell cannot begin with `[` or `*`, which would belong to the line before it."""
    found = " ".join(legible(text).split()).translate(_SPECIAL)
    return f"{{{found}}}" if found[:1] in ("[", "*") else found

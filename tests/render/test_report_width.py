"""Reports in a terminal: no wider than it is, and nothing is lost."""

from __future__ import annotations

import pytest

from pytest_recode.render.report_table import Column, Table, columns
from pytest_recode.render.table_formats import text

COLUMNS = (
    Column(key="model", head="model"),
    *columns("count", a="solved", b="of", c="errors"),
    *columns("percent", d="cases best", e="cases last"),
)


def made(*rows: tuple[object, ...]) -> Table:
    named = [dict(zip(("model", "a", "b", "c", "d", "e"), row, strict=True)) for row in rows]
    return Table(name="x", title="A title of some words", columns=COLUMNS, rows=tuple(named), notes=("a note " * 9,))


TWO = made(("one", 1, 8, 0, 50.0, 25.0), ("another", 2, 8, 0, 75.0, 25.0))


def lines(table: Table, width: int | None) -> list[str]:
    return text([table], ["said of all " * 9], width).splitlines()


@pytest.mark.parametrize("width", range(24, 90))
def test_no_line_is_wider_and_no_value_is_lost(width: int) -> None:
    found = lines(TWO, width)
    assert max(map(len, found)) <= width
    words = [word.strip("(),") for word in " ".join(found).split()]
    for value in ("one", "another", "50.00", "75.00", "25.00", "8", "0", "cases", "last", "errors"):
        assert value in words


def test_what_all_rows_have_is_said_above_as_far_as_it_takes_and_the_last_first() -> None:
    assert lines(TWO, 60)[:4] == [
        "A title of some words",
        "",
        "model    solved  of  errors  cases best  cases last",
        "one           1   8       0       50.00       25.00",
    ]
    assert lines(TWO, 45)[:5] == [
        "A title of some words (cases last 25.00)",
        "",
        "model    solved  of  errors  cases best",
        "one           1   8       0       50.00",
        "another       2   8       0       75.00",
    ]
    assert lines(TWO, 30)[:6] == [
        "A title of some words (of 8,",
        "  errors 0, cases last 25.00)",
        "",
        "model    solved  cases best",
        "one           1       50.00",
        "another       2       75.00",
    ]


def test_what_differs_goes_on_below() -> None:
    table = made(("one", 1, 8, 0, 50.0, 25.0), ("another", 2, 7, 1, 75.0, 26.0))
    assert lines(table, 30)[2:9] == [
        "model    solved  of  errors",
        "one           1   8       0",
        "another       2   7       1",
        "",
        "model    cases best",
        "one           50.00",
        "another       75.00",
    ]


def test_one_row_stays_a_row_and_without_room_for_its_name_a_list() -> None:
    name = "a model whose name is longer than all"
    assert lines(made(("one", 1, 8, 0, 50.0, 25.0)), 30)[2:4] == [
        "model  solved  of  errors",
        "one         1   8       0",
    ]
    assert lines(made((name, 1, 8, 0, 50.0, 25.0)), 30)[2:6] == [
        "model: a model whose name is",
        "  longer than all",
        "solved: 1",
        "of: 8",
    ]


def test_a_table_that_fits_is_as_ever() -> None:
    assert lines(TWO, 300) == lines(TWO, None)

"""A number of a run is the same wherever it is shown: summary, Markdown, reports, HTML, figures, gate and stored records."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from tests.projects import Command

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

UNEVEN = '''\
"""An agent that solves task `first` at once, `second` in its third turn, `third` never, and breaks at `fourth`."""

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move
from pytest_recode.usage import Usage
from tiny_agents import HALF, RIGHT

SOLVES = {"first": 1, "second": 3, "third": 9}


class Uneven:
    def __init__(self, context):
        self.solves = SOLVES.get(context.episode.partition("-")[0])
        self.turns = 0

    def act(self, brief, feedback, workspace):
        if self.solves is None:
            raise ZeroDivisionError("an agent with a fault of its own")
        self.turns += 1
        workspace.write("answer.py", RIGHT if self.turns == self.solves else HALF)
        return Move(steps=1, usage=Usage(prompt_tokens=1000, completion_tokens=234, cost_usd=0.25))


UNEVEN = AgentKind(make=Uneven, needs_model=False)
'''


class Tables(HTMLParser):
    """The tables of a page, by caption: the first row holds the heads. A cell is its value for sorting, or its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._text: str | None = None
        self._value: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td", "caption"):
            self._text, self._value = "", dict(attrs).get("data-sort")

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self._text is None or tag not in ("th", "td", "caption"):
            return
        text = re.sub(r"\s+", " ", self._text).strip()
        if tag == "caption":
            self.tables.setdefault(text, self._rows)
        else:
            self._rows[-1].append(text if self._value is None else self._value)
        self._text = None

    def rows(self, caption: str) -> list[dict[str, str]]:
        return by_head([row for row in self.tables[caption] if row])


def by_head(cells: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """The rows of a table whose first one has the heads."""
    heads, *rows = cells
    return [dict(zip(heads, row, strict=True)) for row in rows]


def split(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def columns(lines: Sequence[str], start: str) -> list[dict[str, str]]:
    """The table of a terminal whose heads begin with `start`, up to the first empty line."""
    [first] = [number for number, line in enumerate(lines) if line.startswith(start)]
    end = next((number for number in range(first, len(lines)) if len(split(lines[number])) == 1), len(lines))
    return by_head([split(line) for line in lines[first:end]])


def of_effort(lines: Sequence[str]) -> dict[str, dict[str, str]]:
    """The summary's table of effort, by policy. Its first head stands above model and policy."""
    [first] = [number for number, line in enumerate(lines) if line.startswith("effort ")]
    heads = split(lines[first])[1:]
    rows = map(split, takewhile(str.strip, lines[first + 1 :]))
    return {policy: dict(zip(heads, cells, strict=True)) for _, policy, *cells in rows}


def piped(text: str, start: str) -> list[dict[str, str]]:
    """The Markdown table whose heads begin with `start`."""
    lines = [re.sub(r"\\(.)", r"\1", line) for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    first = next(number for number, row in enumerate(cells) if row[0].strip() == start)
    heads = cells[first]
    return by_head([heads, *takewhile(lambda row: len(row) == len(heads), cells[first + 2 :])])


def latex(text: str, caption: str) -> list[dict[str, str]]:
    [table] = [part for part in text.split(r"\begin{table}") if rf"\caption{{{caption}" in part]
    lines = [line.strip().removesuffix(r"\\") for line in table.splitlines() if line.rstrip().endswith(r"\\")]
    return by_head([[cell.strip() for cell in line.replace(r"\%", "%").split(" & ")] for line in lines])


def by_policy(rows: Sequence[Mapping[str, Any]], head: str = "feedback") -> dict[str, Mapping[str, Any]]:
    return {row[head].replace("no feedback", "none"): row for row in rows}


EXPECTED: Mapping[str, Mapping[str, float]] = {
    "L0": {
        "solved": 4,
        "played": 6,
        "percent": 100 * 4 / 6,
        "turns": 2,
        "cases": 100 * 5 / 6,
        "tokens": 14 * 1234,
        "cost": 3.5,
    },
    "none": {
        "solved": 2,
        "played": 6,
        "percent": 100 * 2 / 6,
        "turns": 1,
        "cases": 100 * 4 / 6,
        "tokens": 6 * 1234,
        "cost": 1.5,
    },
}
"""By hand: six episodes with a verdict in each row, two without; an episode of `third` passes one of two cases."""

EFFORT = {"L0": (2 / 6, 1 / 3, 2 / 3), "none": (2 / 6, 1 / 3, 1 / 3)}
"""Share of first turns that solve, and of the three tasks with two verdicts: both solved at the first turn, and in the end."""

NEEDED = {
    "L0": {"half_level": "L0", "highest_level": "L0"},
    "none": {"half_level": "-", "highest_level": "none"},
}

WITHIN = {"L0": (2, 2, 4), "none": (2,)}
"""Solved within one turn, two and three."""

OVERVIEW = "Solved episodes, turns and cost of each row"
SOLVED = "Numbers of the figure: solved episodes"
WITHIN_TURNS = "Numbers of the figure: solved within n turns, % (95 %)"


@pytest.mark.slow
def test_a_number_is_the_same_everywhere(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, agents: None, command: Command
) -> None:
    for task in ("first", "second", "third", "fourth"):
        make_task(task)
    pytester.makepyfile(uneven=UNEVEN)
    played = ("--recode-agent=uneven:UNEVEN", "--recode-turns=3", "--recode-attempts=2", "--recode-out=out")
    session = recode(*played, "--recode-feedback=L0", "--recode-feedback=none", "--recode-markdown=page.md").outlines

    def output(*args: str, status: int = 0) -> str:
        done = command(pytester.path, *args)
        assert done.returncode == status, done.stderr
        return done.stdout

    def report(form: str, table: str = "episodes") -> str:
        return output("report", "out", f"--format={form}", f"--table={table}")

    summary = by_policy(columns(session, "model "))
    efforts = of_effort(session)
    page = by_policy(piped((pytester.path / "page.md").read_text(), "tasks"))
    text = by_policy(columns(report("text").splitlines(), "model "))
    helped = by_policy(columns(report("text", "effort").splitlines(), "model "))
    helped_page = by_policy(piped((pytester.path / "page.md").read_text(), "effort"))
    helped_values = by_policy(list(csv.DictReader(io.StringIO(report("csv", "effort")))))
    costs = by_policy(columns(report("text", "costs").splitlines(), "model "))
    markdown = by_policy(piped(report("markdown"), "model"))
    typeset = by_policy(latex(report("latex"), "Episodes"))
    values = by_policy(list(csv.DictReader(io.StringIO(report("csv")))))
    tables = {table["name"]: table["rows"] for table in json.loads(output("report", "out", "--format=json"))["tables"]}
    structured, paid, curves, by_date, structured_effort, tried = (
        by_policy([row for row in tables[name] if row.get("what") != "cases"])
        for name in ("episodes", "costs", "curves", "history", "effort", "attempts")
    )
    output("html", "out", "-o", "page.html")
    html = Tables((pytester.path / "page.html").read_text())
    overview, solved, within = (by_policy(html.rows(caption), "row") for caption in (OVERVIEW, SOLVED, WITHIN_TURNS))
    output("bless", "out", "-o", "base.json")
    gate = dict(re.findall(r"UNEVEN, (\w+), .* ([\d.]+) % solved now", output("gate", "out", "base.json", status=1)))
    curve = {row[1]: row[2:] for row in map(split, session) if len(row) == 5 and row[0] == "uneven:UNEVEN"}

    for policy, expected in EXPECTED.items():
        low, high = structured[policy]["recall_interval"]
        assert 0 < low < expected["percent"] < high < 100
        shown = {
            "solved": {
                "summary": summary[policy]["solved"].split("/")[0],
                "page": page[policy]["solved"].split("/")[0],
                **{f"table {number}": row[policy]["solved"] for number, row in enumerate(
                    (text, costs, markdown, typeset, values, structured, paid, by_date, overview, solved)
                )},
            },
            "played": {
                "summary": summary[policy]["solved"].split("/")[1],
                "page": page[policy]["solved"].split("/")[1],
                **{f"table {number}": row[policy]["of"] for number, row in enumerate((text, markdown, typeset, overview, solved))},
                **{f"data {number}": row[policy]["played"] for number, row in enumerate((values, structured, curves, by_date))},
            },
            "percent": {
                "summary": summary[policy]["%"],
                "page": page[policy]["%"],
                **{f"table {number}": row[policy]["recall"] for number, row in enumerate((text, markdown, typeset, values))},
                "json": structured[policy]["recall"],
                "history": by_date[policy]["recall"],
                "curve": curves[policy][f"turn_{len(WITHIN[policy])}"],
                "html": overview[policy]["solved %"],
                "figure": solved[policy]["%"],
                "figure of turns": within[policy][f"turn {len(WITHIN[policy])}"],
                "gate": gate[policy],
            },
            "turns": {
                "summary": summary[policy]["turns"],
                "page": page[policy]["turns"],
                **{f"table {number}": row[policy]["mean turns"] for number, row in enumerate((text, markdown, typeset))},
                **{f"data {number}": row[policy]["mean_turns"] for number, row in enumerate((values, structured, by_date))},
                "html": overview[policy]["mean turns of solved"],
            },
            "cases": {
                "summary": summary[policy]["cases %"],
                "page": page[policy]["cases %"],
                **{f"table {number}": row[policy]["cases last"] for number, row in enumerate((text, markdown, typeset))},
                **{f"data {number}": row[policy]["cases_last"] for number, row in enumerate((values, structured))},
                "html": overview[policy]["cases that pass at the end %"],
            },
            "tokens": {f"table {number}": row[policy]["tokens"] for number, row in enumerate(
                (summary, page, costs, paid, by_date, overview)
            )},
            "cost": {
                **{f"table {number}": row[policy]["cost $"] for number, row in enumerate((summary, page, costs, overview))},
                **{f"data {number}": row[policy]["cost_usd"] for number, row in enumerate((paid, by_date))},
            },
        }  # fmt: skip
        for what, places in shown.items():
            assert places, what
            for place, cell in places.items():
                assert is_shown(str(cell), expected[what]), (policy, what, place, places)
        at_first, all_first, all_solved = (100 * share for share in EFFORT[policy])
        first_low, first_high = structured_effort[policy]["first_turn_interval"]
        places = {
            "turn 1": [
                (at_first, efforts[policy]["turn 1 %"]),
                (at_first, helped_page[policy]["turn 1 %"]),
                (at_first, helped[policy]["solved at turn 1"]),
                (at_first, helped_values[policy]["first_turn"]),
                (at_first, structured_effort[policy]["first_turn"]),
                (at_first, curves[policy]["turn_1"]),
                (at_first, within[policy]["turn 1"]),
                (at_first, overview[policy]["at turn 1 %"]),
                (first_low, helped_values[policy]["first_turn_interval_low"]),
                (first_high, helped_values[policy]["first_turn_interval_high"]),
            ],
            "pass^2": [
                (all_first, efforts[policy]["pass^2 turn 1 %"]),
                (all_first, helped_page[policy]["pass^2 turn 1 %"]),
                (all_first, helped[policy]["pass^2 at turn 1"]),
                (all_first, structured_effort[policy]["all_first"]),
                (all_solved, efforts[policy]["pass^2 %"]),
                (all_solved, helped_page[policy]["pass^2 %"]),
                (all_solved, helped[policy]["pass^2"]),
                (all_solved, structured_effort[policy]["all_solved"]),
                (all_solved, tried[policy]["pass_all_2"]),
            ],
        }
        for what, cells in places.items():
            for value, cell in cells:
                assert is_shown(str(cell), value), (policy, what, cells)
        for key, head in (("half_level", "half solved by"), ("highest_level", "highest level")):
            texts = (efforts[policy][head], helped_page[policy][head], helped[policy][head], helped_values[policy][key])
            assert {cell or "-" for cell in texts} == {NEEDED[policy][key]}
        tokens = structured_effort[policy]["feedback_tokens"]
        assert is_shown(efforts[policy]["feedback tokens"], tokens)
        assert is_shown(helped_page[policy]["feedback tokens"], tokens)
        assert is_shown(helped[policy]["feedback tokens"], tokens)
        assert (tokens > 0) == (policy == "L0")
        errors = (summary, page, text, markdown, typeset, values, structured, by_date, overview, solved, within)
        assert {str(row[policy]["errors"]) for row in errors} == {"2"}
        interval = f"{low:.1f} to {high:.1f}"
        assert summary[policy]["95 % interval"] == page[policy]["95 % interval"] == interval
        assert text[policy]["95 %"] == markdown[policy]["95 %"] == typeset[policy]["95 %"] == interval
        assert is_shown(values[policy]["recall_interval_low"], low)
        assert float(overview[policy]["95 %"]) == float(solved[policy]["95 %"]) == low
        assert by_date[policy]["recall_interval"] == [low, high]
        counts = WITHIN[policy]
        assert curve[policy] == [str(counts[min(turn, len(counts) - 1)]) for turn in range(3)]
        for turn, count in enumerate(counts, 1):
            assert is_shown(within[policy][f"turn {turn}"], 100 * count / 6)
            assert is_shown(str(curves[policy][f"turn_{turn}"]), 100 * count / 6)


def is_shown(cell: str, value: float) -> bool:
    """Whether a cell is `value`, rounded to the digits that it has."""
    digits = cell.replace(",", "")
    return float(digits) == pytest.approx(value, abs=max(0.5001 * 10.0 ** -len(digits.partition(".")[2]), 1e-9))

"""The figures of rows by turn and by feedback level: lines with intervals, in panels of few rows so that each interval can be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.episodes import LEVELS, Episodes, share_of, solved_level
from pytest_recode.metrics.intervals import Interval
from pytest_recode.render.html.chart import Chart, Panel, legend, row_column, short, style
from pytest_recode.render.html.level_texts import LEVELS_SAY
from pytest_recode.render.report_episodes import turns_given
from pytest_recode.render.report_table import COUNTS, Column, Rows, Table, counts, percents

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 5
"""In a panel with more rows, intervals would cover each other."""

Points = Mapping[Row, Sequence[tuple[float, Interval] | None]]
"""For each row and tick, a share with its interval; None: the row has no value there."""


def by_turn(rows: Rows, episodes: Mapping[Row, Episodes], names: Mapping[Row, str]) -> Chart:
    def within(turn: int) -> Callable[[Attempt], bool]:
        return lambda attempt: attempt.solved_within(turn)

    turns = range(1, max(one.turns for one in episodes.values()) + 1)
    points: Points = {
        row: [share_of(rows[row], within(turn)) if turn <= turns_given(row, one) else None for turn in turns]
        for row, one in episodes.items()
    }
    return _lines(
        "turns",
        "Solved within n turns",
        "The share of played episodes that were solved within n turns (recall at n), with 95 % intervals. A line ends at the limit on"
        " turns of its row.",
        [str(turn) for turn in turns],
        "turn",
        points,
        rows,
        names,
    )


def by_level(rows: Rows, episodes: Mapping[Row, Episodes], names: Mapping[Row, str]) -> Chart:
    def up_to(level: str) -> Callable[[Attempt], bool]:
        known = LEVELS[: LEVELS.index(level) + 1]
        return lambda attempt: solved_level(attempt) in known

    points: dict[Row, Sequence[tuple[float, Interval] | None]] = {}
    for row in episodes:
        levels = {turn.level or "none" for attempt in rows[row] for turn in attempt.turns}
        points[row] = [share_of(rows[row], up_to(level)) if level in levels else None for level in LEVELS]
    return _lines(
        "levels",
        "Solved with feedback of at most this level",
        "The share of played episodes that were solved without feedback, or with feedback of at most each level, with 95 % intervals."
        " The step at a level is what feedback of this level added, in all turns that had it. A row has no point at a level that it never gave."
        f" What feedback says: {'; '.join(f'{level} {text}' for level, text in LEVELS_SAY.items())}.",
        list(LEVELS),
        "feedback level",
        points,
        rows,
        names,
        steps=True,
    )


def _lines(
    name: str,
    title: str,
    description: str,
    ticks: Sequence[str],
    unit: str,
    points: Points,
    rows: Rows,
    names: Mapping[Row, str],
    *,
    steps: bool = False,
) -> Chart:
    """`steps`: a value holds until the next one, instead of a line between them."""
    places = {row: place for place, row in enumerate(points)}

    def panel(group: Sequence[Row], title: str) -> Panel:
        def draw(axes: Axes) -> None:
            step = min(0.12, 0.5 / len(group))
            for place, row in enumerate(group):
                shift = step * (place - (len(group) - 1) / 2)
                known = [(at + shift, value) for at, value in enumerate(points[row]) if value]
                axes.errorbar(
                    [at for at, _ in known],
                    [100 * share for _, (share, _) in known],
                    yerr=[
                        [100 * (share - low) for _, (share, (low, _)) in known],
                        [100 * (high - share) for _, (share, (_, high)) in known],
                    ],
                    capsize=2,
                    elinewidth=1.1 if steps else 0.8,
                    markersize=5,
                    linewidth=0.8 if steps else 1.4,
                    linestyle=":" if steps else "-",  # a vertical step must not cover an interval
                    label=names[row],
                    drawstyle="steps-post" if steps else "default",
                    **style(places[row]),
                )
            axes.set_xticks(range(len(ticks)), ticks)
            axes.set_xlim(-0.5, len(ticks) - 0.5)
            axes.set_ylim(-3, 103)
            axes.set_xlabel(unit)
            axes.set_ylabel("solved, %")
            axes.grid(axis="y")
            legend(axes)

        return Panel(height=2.7 + 0.21 * len(group), draw=draw, title=title)

    return Chart(
        name=name,
        title=title,
        description=description,
        panels=tuple(panel(group, title) for title, group in _groups(list(points))),
        table=Table(
            name=f"figure-{name}",
            title=f"Numbers of the figure: {title[0].lower()}{title[1:]}, % (95 %)",
            columns=(
                *row_column(),
                *(
                    column
                    for tick in ticks
                    for column in (
                        Column(key=f"share_{tick}", head=f"{unit} {tick}", kind="percent"),
                        Column(key=f"interval_{tick}", head="95 %", kind="interval"),
                    )
                ),
                *COUNTS[:2],
            ),
            rows=tuple(
                {
                    "row": names[row],
                    **{
                        key: value
                        for tick, point in zip(ticks, values, strict=True)
                        if point is not None
                        for key, value in (
                            (f"share_{tick}", 100 * point[0]),
                            (f"interval_{tick}", percents(point[1])),
                        )
                    },
                    **counts(rows[row], 0),
                }
                for row, values in points.items()
            ),
        ),
    )


def _groups(rows: Sequence[Row]) -> Sequence[tuple[str, Sequence[Row]]]:
    """The rows of each panel, with its title: all rows in one if they are few, else by what they differ in, model, feedback or agent, whichever gives the fewest panels."""
    if len(rows) <= _MOST_LINES:
        return [("", rows)]
    by_model, by_feedback, by_agent = (
        _split(rows, key) for key in (lambda row: row.model, lambda row: row.feedback, lambda row: row.agent)
    )
    several = len({row.agent for row in rows}) > 1
    return min((by_model, by_feedback, *([by_agent] if several else [])), key=len)


def _split(rows: Sequence[Row], key: Callable[[Row], str]) -> list[tuple[str, Sequence[Row]]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return [
        (short(value), group[start : start + _MOST_LINES])
        for value, group in groups.items()
        for start in range(0, len(group), _MOST_LINES)
    ]

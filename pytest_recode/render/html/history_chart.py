"""The figure of runs of equal settings over time: solved share with interval, turns, cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pytest_recode.metrics.attempt import Row
from pytest_recode.metrics.history import Point, Series, history
from pytest_recode.render.html.chart import Chart, Panel, legend, short, style
from pytest_recode.render.html.names import labels
from pytest_recode.render.report_history import tables
from pytest_recode.render.report_table import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def history_chart(rows: Rows) -> Chart | None:
    """The figure, with the report's table `history`; None if no two rows differ in the run alone, or none of them has a date."""
    several = [series for series in history(rows) if len(series) > 1]
    table = tables({point.row: rows[point.row] for series in several for point in series})
    numbers = table["history"]() if table else None
    if numbers is None:
        return None
    names = labels([_setting(series) for series in several])
    lines = {short(names[_setting(series)]): series for series in several}
    panels = [_panel("solved, %, with 95 % interval", lines, _share, top=103)]
    if any(point.numbers.mean_turns is not None for series in several for point in series):
        panels.append(_panel("mean turns of solved episodes", lines, lambda point: point.numbers.mean_turns))
    if any(point.numbers.cost_usd for series in several for point in series):
        panels.append(_panel("cost of all episodes, US dollars", lines, lambda point: point.numbers.cost_usd))
    else:
        panels.append(_panel("tokens of all episodes", lines, lambda point: point.numbers.tokens))
    return Chart(
        name="history",
        title="Runs of equal settings over time",
        description="A line joins runs that differ in nothing but the run: the share of played episodes that were solved, with its 95 %"
        " interval, the mean turns of solved episodes, and the cost. A run is at the time when its last episode ended (UTC). Overlapping"
        " intervals are no test; the page Compare has tests of pairs.",
        panels=tuple(panels),
        table=numbers,
    )


def _setting(series: Series) -> Row:
    return series[0].row


def _share(point: Point) -> float | None:
    return None if point.share is None else 100 * point.share


def _panel(
    title: str, lines: Mapping[str, Series], value: Callable[[Point], float | None], *, top: float | None = None
) -> Panel:
    """`top`: the upper end of an axis of percentages, on which points have intervals."""

    def draw(axes: Axes) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

        for place, (name, series) in enumerate(lines.items()):
            known = [(point, number) for point in series if (number := value(point)) is not None]
            axes.errorbar(
                [float(date2num(datetime.fromisoformat(point.ended))) for point, _ in known],
                [number for _, number in known],
                yerr=_errors(known) if top is not None else None,
                capsize=2,
                elinewidth=0.8,
                linewidth=1.2,
                markersize=5,
                label=name,
                **style(place),
            )
        locator = AutoDateLocator(minticks=3, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.set_ylim(bottom=-3 if top is not None else 0, top=top)
        axes.grid(axis="y")
        legend(axes)

    return Panel(height=2.4 + 0.21 * len(lines), draw=draw, title=title)


def _errors(points: Sequence[tuple[Point, float]]) -> list[list[float]]:
    """Distances of percentages to the lower and upper ends of their intervals."""
    ends = [(number, *(point.numbers.interval or (0.0, 1.0))) for point, number in points]
    return [[number - 100 * low for number, low, _ in ends], [100 * high - number for number, _, high in ends]]

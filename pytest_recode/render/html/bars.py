"""Horizontal bars that are divided into parts, with the names of rows above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_recode.render.html.chart import COLOURS, legend, name_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def stacked(axes: Axes, names: list[str], parts: Sequence[str], shares: Sequence[Sequence[float]], unit: str) -> None:
    """Horizontal bars from 0 to 100 %, one for each name, of one colour for each part. `unit`: what is divided."""
    for number, of_part in enumerate(zip(*shares, strict=True)):
        if any(of_part):  # the names of parts in their order, whichever bar has them first
            axes.barh(0, 0, color=COLOURS[number % len(COLOURS)], label=parts[number])
    for place, values in enumerate(shares):
        left = 0.0
        for number, value in enumerate(values):
            if value:
                axes.barh(place, value, left=left, height=0.4, color=COLOURS[number % len(COLOURS)])
                left += value
    name_lines(axes, names, above=0.2)
    axes.set_xlim(0, 100)
    axes.set_xlabel(unit)
    legend(axes, below=0.5)


def first_label(axes: Axes, name: str) -> str:
    """The name for the legend the first time, then none."""
    return "_" if name in axes.get_legend_handles_labels()[1] else name


def legend_height(shares: Sequence[Sequence[float]]) -> float:
    """The height in inches of the names of the parts that occur."""
    return 0.3 + 0.21 * sum(any(values) for values in zip(*shares, strict=True))

"""The type of a figure, and what all figures have in common: colours, markers, legends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_recode.render.report_table import Column, Table, columns
from pytest_recode.verdict import legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b62a8", "#b3470e", "#12795a", "#9c3587", "#6b5b00", "#007d8a", "#a8323c", "#4d4d9e")
"""Colours of rows, distinguishable also with a colour vision deficiency; each has a marker, too."""
MARKERS = "osD^vPX*"
INK, GRID = "#1b1f24", "#c9ced6"
WIDTH = 5.6
"""Width of a panel in inches. A page of 400 pixels shows it at two thirds of its size, so that its words can still be read."""
_MOST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of a figure with axes of its own. `height` is in inches. `title`: "" for the only panel of a figure."""

    height: float
    draw: Callable[[Axes], None]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure. `description`: what it shows, for people who cannot see it, and where numbers that are not the run's come from."""

    name: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    table: Table


def short(name: str) -> str:
    """A name for a figure: one line of at most 60 characters."""
    text = legible(name, keep="")
    return text if len(text) <= _MOST_NAME else f"{text[:_MOST_NAME]}…"


def style(place: int) -> dict[str, Any]:
    """Colour and marker of the row at `place`, which no other of 64 rows has."""
    marker = MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]
    return {"color": COLOURS[place % len(COLOURS)], "marker": marker}


def row_column() -> tuple[Column, ...]:
    return columns("text", row="row")


def legend(axes: Axes, *, below: float | None = None) -> None:
    """The names of rows below the axes, where they cover no point. `below`: inches from the axes; None: a fifth of their height."""
    height = axes.get_figure(root=True).get_figheight()
    distance = 0.2 if below is None else below / height
    axes.legend(loc="upper left", bbox_to_anchor=(0, -distance), ncols=1, frameon=False, borderaxespad=0)


def name_lines(axes: Axes, names: list[str], *, at: float = 0.0, above: float = 0.0) -> None:
    """Write each name above its own line of the axes, from the left: long names leave the width to the figure.

    `above`: half the height of the line's bar, of which it has 1 in all.
    """
    for place, name in enumerate(names):
        space = 1 if above else 7
        axes.annotate(name, (at, place - above), xytext=(0, space), textcoords="offset points", va="bottom", ha="left")
    axes.set_yticks([])
    axes.set_ylim(len(names) - 0.5, -0.9)
    axes.spines["left"].set_visible(False)


def lines_height(lines: int) -> float:
    """The height of a panel with `lines` named lines."""
    return 0.75 + 0.46 * lines

"""Draw charts with matplotlib: as SVG inside a page, whose colours are the page's, and as SVG and PNG files.

Equal charts give equal bytes: ids are derived from a fixed salt, and no date or version is written.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from pytest_recode.render.html.chart import COLOURS, GRID, INK, WIDTH, Chart, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "pytest-recode",
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
    "text.parse_math": False,  # a `$` in the name of a model is a dollar sign
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
}
_DPI = 144
_CLASSES = {INK: "ink", GRID: "grid", **{colour: f"row{place}" for place, colour in enumerate(COLOURS)}}
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"


_TITLE_WIDTH = 55
"""Characters that fit above a panel."""
_COLUMNS = 2
"""Panels beside each other in a file."""


@contextmanager
def _styled() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")  # a name in a script that the font lacks
        style: Any = {**matplotlib.rcParamsDefault, **_STYLE}  # a matplotlibrc of the user changes nothing
        matplotlib.rcParams.update(style)
        yield


def _whole(chart: Chart) -> Figure:
    """All panels of a figure, with its title."""
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(chart.panels))
    lines = [chart.panels[start : start + columns] for start in range(0, len(chart.panels), columns)]
    heights = [max(panel.height for panel in line) for line in lines]
    figure = Figure(figsize=(WIDTH * columns, sum(heights) + 0.3), layout="constrained")
    grid = figure.add_gridspec(len(lines), columns, height_ratios=heights)
    for place, panel in enumerate(chart.panels):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        panel.draw(axes)
        if panel.title:
            axes.set_title(panel.title, loc="left", fontsize="medium")
    if len(chart.panels) == 1:
        axes.set_title(textwrap.fill(chart.title, _TITLE_WIDTH), loc="left")
    else:
        figure.suptitle(chart.title, x=0.01, ha="left")
    return figure


def png(chart: Chart) -> bytes:
    """The figure on white, with 144 dots per inch."""
    data = io.BytesIO()
    with _styled():
        _whole(chart).savefig(data, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    return data.getvalue()


def svg(chart: Chart) -> bytes:
    """The figure as a file of its own, on white, with its title and description."""
    with _styled():
        root = _tree(_whole(chart), facecolor="white")
    _describe(root, f"figure-{chart.name}", chart.title, chart.description)
    ElementTree.register_namespace("", _SVG[1:-1])
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def inline(chart: Chart) -> tuple[str, ...]:
    """The panels as elements of a page: without style attributes, which the page forbids, and with classes instead of colours."""
    return tuple(_inline(chart, panel, place) for place, panel in enumerate(chart.panels, 1))


def _inline(chart: Chart, panel: Panel, place: int) -> str:
    from matplotlib.figure import Figure

    with _styled():
        figure = Figure(figsize=(WIDTH, panel.height), layout="constrained")
        panel.draw(figure.add_subplot())
        root = _tree(figure, facecolor="none")
    _without_styles(root)
    single = len(chart.panels) == 1
    name = f"figure-{chart.name}" if single else f"figure-{chart.name}-{place}"
    _own_ids(root, name)
    _describe(root, name, f"{chart.title}: {panel.title}" if panel.title else chart.title, chart.description)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        if (target := element.attrib.pop(_HREF, None)) is not None:
            element.set("href", target)
    # The page decides the width
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.set("class", "figure")
    text: str = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    return text


def _tree(figure: Figure, *, facecolor: str) -> ElementTree.Element:
    data = io.BytesIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(data, format="svg", facecolor=facecolor, metadata=metadata)
    root = ElementTree.fromstring(data.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}metadata":
                parent.remove(child)
    return root


def _describe(root: ElementTree.Element, name: str, title: str, description: str) -> None:
    """Give the figure its title and description, which are read aloud instead of the drawing."""
    ids = f"{name}-title", f"{name}-desc"
    for place, (tag, key, text) in enumerate((("title", ids[0], title), ("desc", ids[1], description))):
        element = ElementTree.Element(f"{_SVG}{tag}", {"id": key})
        element.text = text
        root.insert(place, element)
    root.set("role", "img")
    root.set("aria-labelledby", " ".join(ids))


def _without_styles(root: ElementTree.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}style":
                parent.remove(child)  # it would apply to the whole page
    for element in root.iter():
        classes = []
        for name, value in _properties(element.attrib.pop("style", "")):
            if name in ("fill", "stroke") and value in _CLASSES:
                classes.append(f"{name}-{_CLASSES[value]}")
            elif name == "font":
                size = re.search(r"[\d.]+px", value)
                element.set("font-size", size[0] if size else "10px")
            elif not name.startswith("font-family"):
                element.set(name, value)
        if element.tag == f"{_SVG}text" and not any(each.startswith("fill-") for each in classes):
            classes.append("fill-ink")
        if classes:
            element.set("class", " ".join(classes))


def _properties(style: str) -> Iterator[tuple[str, str]]:
    for each in style.split(";"):
        name, _, value = each.partition(":")
        if value:
            yield name.strip(), value.strip()


def _own_ids(root: ElementTree.Element, prefix: str) -> None:
    """Keep only ids that are referred to, with a prefix, because several figures share a page."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    for element in root.iter():
        found = element.attrib.pop("id", None)
        if found in used:
            element.set("id", f"{prefix}-{found}")
        for key, value in element.attrib.items():
            if key == _HREF:
                element.set(key, value.replace("#", f"#{prefix}-", 1))
            elif value.startswith("url(#"):
                element.set(key, value.replace("url(#", f"url(#{prefix}-", 1))

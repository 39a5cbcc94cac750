"""Draw charts with matplotlib: as SVG inside a page, whose colours are the page's, and as SVG and PNG files.

Equal charts give equal bytes: ids are derived from a fixed salt, and no date or version is written.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from pytest_recode.render.html.charts import COLOURS, GRID, INK, Chart

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


@contextmanager
def _drawn(chart: Chart, *, titled: bool) -> Iterator[Figure]:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")  # a name in a script that the font lacks
        style: Any = {**matplotlib.rcParamsDefault, **_STYLE}  # a matplotlibrc of the user changes nothing
        matplotlib.rcParams.update(style)
        figure = Figure(figsize=chart.size, layout="constrained")
        axes = figure.add_subplot()
        chart.draw(axes)
        if titled:
            axes.set_title(chart.title, loc="left")
        yield figure


def png(chart: Chart) -> bytes:
    """The figure on white, with 144 dots per inch."""
    data = io.BytesIO()
    with _drawn(chart, titled=True) as figure:
        figure.savefig(data, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    return data.getvalue()


def svg(chart: Chart) -> bytes:
    """The figure as a file of its own, on white, with its title and description."""
    root = _tree(chart, facecolor="white", titled=True)
    _describe(root, chart)
    ElementTree.register_namespace("", _SVG[1:-1])
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def inline(chart: Chart) -> str:
    """The figure as an element of a page: without style attributes, which the page forbids, and with classes instead of colours."""
    root = _tree(chart, facecolor="none", titled=False)
    _without_styles(root)
    _own_ids(root, f"figure-{chart.name}")
    _describe(root, chart)
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


def _tree(chart: Chart, *, facecolor: str, titled: bool) -> ElementTree.Element:
    data = io.BytesIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with _drawn(chart, titled=titled) as figure:
        figure.savefig(data, format="svg", facecolor=facecolor, metadata=metadata)
    root = ElementTree.fromstring(data.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}metadata":
                parent.remove(child)
    return root


def _describe(root: ElementTree.Element, chart: Chart) -> None:
    """Give the figure its title and description, which are read aloud instead of the drawing."""
    ids = f"figure-{chart.name}-title", f"figure-{chart.name}-desc"
    for place, (tag, key, text) in enumerate((("title", ids[0], chart.title), ("desc", ids[1], chart.description))):
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

"""Make the pages of a report from their values, as one file or, above a size, as a directory of files.

Templates escape every text, and show control and direction characters as escapes. Script and style are allowed by their hashes, so that
a script that got into a text nevertheless would not run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from pytest_recode import VERSION
from pytest_recode.render.html.answer import BenchmarkAnswer
from pytest_recode.render.html.chart import Chart
from pytest_recode.render.html.episode_view import EpisodeView
from pytest_recode.render.html.figure_files import inline
from pytest_recode.render.html.matrix import Matrix
from pytest_recode.render.html.pairs_view import RowPair
from pytest_recode.render.html.provenance import Caveat
from pytest_recode.render.html.table_view import TableView, table_view
from pytest_recode.render.html.withheld import PARTS, Without
from pytest_recode.verdict import legible

MOST_BYTES = 20_000_000
"""The size above which a report is a directory."""
INDEX, EPISODES = "index.html", "episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The contents of a report, without its episodes. `common`: what all rows share, which their names do not have. `clear`: what was looked for that would weaken the numbers, and not found. `published`: whether tables have published results. `left_out`: which figure is missing, and why, or "". `history`: None without runs of equal settings."""

    title: str
    common: str
    answers: tuple[BenchmarkAnswer, ...]
    caveats: tuple[Caveat, ...]
    clear: str
    published: bool
    overview: TableView
    spent: str
    charts: tuple[Chart, ...]
    left_out: str
    history: Chart | None
    matrix: Matrix
    pairs: tuple[RowPair, ...]
    provenance: tuple[TableView, ...]
    tables: tuple[TableView, ...]
    table_notes: tuple[str, ...]
    without: Without


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodePage:
    """The page of an episode, for a file or a directory. `before`, `after`: the keys of the pages beside it, or ""."""

    key: str
    title: str
    body: Markup
    before: str = ""
    after: str = ""


def episode_page(view: EpisodeView, before: str, after: str) -> EpisodePage:
    body = _environment().get_template("episode.html.j2").render(episode=view)
    title = f"{view.task}: {view.who}, {view.status}"
    return EpisodePage(key=view.id, title=title, body=Markup(body), before=before, after=after)


def files(report: Report, episodes: Sequence[EpisodePage], most_bytes: int = MOST_BYTES) -> dict[str, str]:
    """The contents of the report's files, by name: index.html, and a file for each episode if one file would be too large."""
    if sum(len(page.body) for page in episodes) <= most_bytes:
        whole = _index(report, episodes, link="#{}")
        if len(whole.encode()) <= most_bytes:
            return {INDEX: whole}
    contents = {INDEX: _index(report, [], link=EPISODES + "/{}.html")}
    for page in episodes:
        contents[f"{EPISODES}/{page.key}.html"] = _framed(
            "single.html.j2",
            title=page.title,
            episode=page,
            link="{}.html".format,
            home=f"../{INDEX}",
            without=report.without,
        )
    return contents


def single(view: EpisodeView) -> str:
    """The page of one episode by itself, for the reports of other tools."""
    page = episode_page(view, "", "")
    return _framed("single.html.j2", title=page.title, episode=page, link=str, home="", without=Without())


def _index(report: Report, episodes: Sequence[EpisodePage], *, link: str) -> str:
    # ElementTree has escaped the texts of figures
    figures, history = (
        [
            (chart, [*zip(chart.panels, map(Markup, inline(chart)), strict=True)], table_view(chart.table))
            for chart in found
        ]
        for found in (report.charts, [report.history] if report.history else [])
    )
    return _framed(
        "report.html.j2",
        title=report.title,
        report=report,
        figures=figures,
        history=history,
        episodes=episodes,
        link=link.format,
        without=report.without,
    )


def _framed(template: str, *, without: Without, **values: Any) -> str:
    style, script = _resource("style.css"), _resource("script.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    own: dict[str, Any] = {"style": Markup(style), "script": Markup(script)}
    own["removed"] = [(name, PARTS[name]) for name in without.parts]
    text: str = _environment().get_template(template).render(policy=policy, version=VERSION, **own, **values)
    return text


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _resource(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["cell"] = _cell
    return environment


def _shown(value: Any) -> Any:
    """A text without characters that a browser would not show, or that would change the order of others."""
    return legible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _cell(text: str) -> str:
    """A text that a spreadsheet, into which a table is copied, does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and len(text) > 1 else text

"""The figures of the papers in `pytest-recode html` and `plot`: the user's rows next to the published ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_recode.cli import main
from pytest_recode.cli.report_tables import makers, rows_of
from pytest_recode.metrics import published
from pytest_recode.render.html.chart import Chart
from pytest_recode.render.html.charts import TABLES, charts
from pytest_recode.render.html.figure_files import inline, svg
from pytest_recode.render.html.names import labels
from tests.metrics.samples import own_run, record, run, sorted_turn, stats, turn

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*files: Path) -> Mapping[str, Chart]:
    grouped = rows_of(files)
    made = makers(grouped, known={})
    tables = {name: table for name in TABLES if name in made and (table := made[name]()) is not None}
    return {chart.name: chart for chart in charts(grouped.own, labels(grouped.own), tables)}


def words(chart: Chart) -> list[str]:
    """The texts of the figure, as they are in its file."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg(chart)).iter(f"{SVG}text")]


@pytest.fixture
def snippets(tmp_path: Path) -> Path:
    more = {"format": "researchcodebench", "feedback": "none", "agent": "one-shot", "cutoff": "2024-06"}
    with_paper = own_run("mine", "GPT_4_1", **more)
    without = own_run("mine", "GEMINI_2_0_FLASH", paper=False, **more)
    return run(tmp_path / "own", [*with_paper, *without])


@pytest.fixture
def stats_file(tmp_path: Path) -> Path:
    path = tmp_path / "overall_stats.json"
    path.write_text(json.dumps(stats()))
    return path


@pytest.mark.slow
def test_researchcodebench_has_the_figures_of_its_paper(snippets: Path, stats_file: Path) -> None:
    figures = drawn(snippets, stats_file)
    assert {"scaled-pass", "cutoffs", "paper-impact", "error-shares"} <= figures.keys()
    names = words(figures["scaled-pass"])
    models = {scores["llm_cfg"]["pretty_name"] for scores in stats()["overall_scores"].values()}
    assert {f"{model} (published)" for model in models} <= set(names)
    assert {"mine", "mine, without paper", "published", "runs", "safe subset"} <= set(names)
    assert names.index("GPT-4.1 (published)") - names.index("mine") == 1  # equal answers have equal places
    assert set(stats()["results"]) <= set(words(figures["cutoffs"]))
    assert "32 models (published)" in words(figures["error-shares"])
    for chart in figures.values():
        assert re.search(r"\.[A-Z]|\. [a-z]", chart.description) is None  # sentences
        if chart.name in ("scaled-pass", "cutoffs", "paper-impact"):
            assert "arXiv 2506.02314), which was given as a file" in chart.description
    impact = figures["paper-impact"].table
    assert len(impact.rows) == 212
    assert {row["difference"] for row in impact.rows} == {-100.0, 0.0, 100.0}


def test_without_the_published_file_no_published_row_is_claimed(snippets: Path) -> None:
    figures = drawn(snippets)
    assert {"mine", "mine, without paper", "runs"} <= set(words(figures["scaled-pass"]))
    assert "published" not in words(figures["scaled-pass"])
    assert "Published rows" not in figures["scaled-pass"].description


@pytest.mark.slow
def test_published_rows_alone_can_be_plotted(stats_file: Path, tmp_path: Path) -> None:
    assert main(["plot", str(stats_file), "-o", str(tmp_path / "figures")]) == 0
    assert (tmp_path / "figures/scaled-pass.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    def episode(task: str, level: str, *, solved: bool) -> dict[str, Any]:
        second = sorted_turn(2, ["T1", "T3"]) if level == "L2" else turn(2, 1, level=level)
        turns = [turn(1, 1), second, turn(3, 4 if solved else 1, level=level)]
        return record(task, turns=turns, feedback=level, format="recode-h", facts={"annotation": 1})

    return run(
        tmp_path / "own",
        [episode(f"a{place}", level, solved=place < 2) for level in ("L0", "L2") for place in range(4)],
    )


@pytest.mark.slow
def test_recode_h_has_the_curves_of_its_paper(levels: Path) -> None:
    figures = drawn(levels)
    published_names = {f"{model} (published)" for model in published.SOLVED}
    assert {*published_names, "m"} <= set(words(figures["recode-h-levels"]))
    turns = figures["recode-h-turns"]
    assert [panel.title for panel in turns.panels] == ["L0", "L2"]
    for panel in inline(turns):
        assert all(name in panel for name in published_names)
    rows = {(row["model"], row["feedback"]): row["recall"] for row in figures["recode-h-levels"].table.rows}
    assert rows["m", "L2"] == 50.0
    assert rows["GPT-5", "L4"] == 100 * 73 / published.TASKS
    assert {f"{model} (published)" for model in published.ERROR_TYPES} < set(words(figures["feedback-categories"]))
    categories = [word for word in words(figures["feedback-categories"]) if re.match(r"T\d ", word)]
    assert categories == ["T1 correctness", "T2 paper or instruction", "T3 knowledge", "T4 repository"]
    for name in ("recode-h-levels", "recode-h-turns"):
        assert (
            "arXiv 2510.06186), from notes on the paper, table 2: Recall@10 of 102 tasks" in figures[name].description
        )


@pytest.mark.slow
def test_the_page_has_them(levels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["html", str(levels), "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    for title in ("RECODE-H: recall by feedback level", "RECODE-H: recall by turn, for each feedback level"):
        assert f"<h2>{title}</h2>" in page
    assert "its other cells were not available" in page


def test_other_benchmarks_have_none(tmp_path: Path) -> None:
    found = drawn(run(tmp_path / "own", [record("a", (1, 4)), record("b", (4,))]))
    assert list(found) == ["solved", "cost", "turns", "levels"]

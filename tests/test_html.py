"""`pytest-recode html` and `plot`: what the pages say, that they load nothing and run no script of a record, and what `--without` removes."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from pytest_recode import VERSION
from pytest_recode.cli.report_tables import makers, rows_of
from pytest_recode.metrics.episodes import LEVELS, share_of, solved_level
from pytest_recode.metrics.transcripts import FROM_FILES, ReadTranscripts
from pytest_recode.records.line_check import checked_line, checked_record
from pytest_recode.records.transcript_reader import case_messages
from pytest_recode.records.transcript_turns import read_episode
from pytest_recode.render.episode_text import ShownParts, painted
from pytest_recode.render.episode_text import shown as show_lines
from pytest_recode.render.html import build
from pytest_recode.render.html.charts import charts
from pytest_recode.render.html.episode_view import dedented
from pytest_recode.render.html.figure_files import inline, png, svg
from pytest_recode.render.html.level_texts import LEVELS_SAY
from pytest_recode.render.html.names import labels
from pytest_recode.render.html.page import files
from pytest_recode.render.html.withheld import PARTS, Without
from pytest_recode.render.words import essence
from pytest_recode.schema.stored_forms import DamagedError
from tests.messages import assert_message
from tests.metrics import samples
from tests.projects import MODEL, Command


class Page(HTMLParser):
    """A parsed page: its start tags with attributes, its text, and the texts of its `script` and `style` elements."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.own: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self._within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))
        if tag in self.own and (tag != "title" or not self.own["title"]):
            self.own[tag].append("")
            self._within = tag

    def handle_endtag(self, tag: str) -> None:
        self._within = "" if tag == self._within else self._within

    def handle_data(self, data: str) -> None:
        if self._within:
            self.own[self._within][-1] += data
        else:
            self.text += data

    def values(self, name: str, tag: str = "") -> list[str]:
        return [attrs[name] for each, attrs in self.tags if name in attrs and tag in ("", each)]


def page_of(place: Path, command: Command, *args: object) -> Page:
    done = command(place, "html", "run", "-o", "report.html", *args)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("report.html (")
    return Page((place / "report.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def page(played: Path, tmp_path_factory: pytest.TempPathFactory, quick_python: tuple[str, ...]) -> Page:
    """The page of the whole run."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    command = [*quick_python, "-m", "pytest_recode.cli", "html", "run", "-o", str(path)]
    subprocess.run(command, cwd=played, check=True, capture_output=True)
    return Page(path.read_text("utf-8"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path: Path, content: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in content))


def transcripts(place: Path) -> list[Path]:
    return sorted((place / "run/episodes").glob("*.jsonl"))


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_page_loads_nothing_and_allows_only_its_own_script(page: Page) -> None:
    assert page.values("src") == []
    assert {each[0] for each in page.values("href")} == {"#"}
    [policy] = [attrs["content"] for _, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    for name in ("script", "style"):
        [text] = page.own[name]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert page.values("style") == []


def test_links_lead_to_parts_of_the_page_and_tables_can_be_read_aloud(page: Page) -> None:
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {each[1:] for each in page.values("href")} <= set(ids)
    assert {each for value in page.values("aria-labelledby") for each in value.split()} <= set(ids)
    names = [tag for tag, _ in page.tags]
    assert names.count("table") == names.count("caption") > 10
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")
    drawings = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(drawings) == 4
    assert {attrs["role"] for attrs in drawings} == {"img"}


def test_the_overview_has_the_numbers_of_the_report(played: Path, page: Page, command: Command) -> None:
    tables = json.loads(command(played, "report", "run", "--format=json").stdout)["tables"]
    [rows] = [table["rows"] for table in tables if table["name"] == "episodes"]
    best = max(rows, key=lambda row: row["recall"])
    text = squeezed(page.text)
    assert f"{best['feedback']} solved {best['solved']} of {best['played']} episodes: {best['recall']:.1f} %" in text
    assert f"All rows: {MODEL} (simulated), agent recode" in text
    assert "an offline model that breaks and repairs the reference" in text
    for record in lines(played / "run/results.jsonl"):
        assert record["nodeid"] in text
        assert (record["digest"] or "") in text
    for table in tables:
        assert f"table-{table['name']}" in page.values("id")
    assert re.search(r"Answers of the model that could not be used \([^)]*\): none ", text)  # a table of zeros


def test_an_episode_is_shown_turn_by_turn(played: Path, page: Page) -> None:
    text = page.text
    assert re.search(r"Steps\s.* \d+\.\d s", text)  # how long the step took
    for path in transcripts(played):
        for line in lines(path):
            if line["event"] == "feedback":
                assert line["text"].strip() in text
            elif line["event"] == "message":
                assert line["content"] in text
            elif line["event"] == "turn":
                assert f"Turn {line['turn']}: {line['passed']} of {line['total']} cases pass" in text
                for case in line["verdict"]["cases"]:
                    if case["outcome"] != "passed":
                        assert case["id"] in text
                        assert "\n".join(dedented(essence(case["message"]))) in text


def test_the_table_of_turns_says_how_cases_failed(played: Path, page: Page) -> None:
    text = squeezed(page.text)
    for path in transcripts(played):
        for line in lines(path):
            if line["event"] == "turn" and line["passed"] < line["total"]:
                words = {"mismatch": "wrong values", "assertion": "a property does not hold"}
                kinds = Counter(
                    case["exception"] or words.get(case["kind"], case["kind"])
                    for case in line["cases"]
                    if case["outcome"] != "passed"
                )
                said = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
                assert f"{line['level'] or 'none'}{line['passed']} of {line['total']}{said}" in text
            elif line["event"] == "feedback":
                assert f"Feedback {line['level']} ({LEVELS_SAY[line['level']]}; derived from the failures" in text


def test_pages_of_attempts_have_different_titles(tmp_path: Path) -> None:
    records = [samples.record("a", (0, 4), attempt=attempt) for attempt in (1, 2)]
    own = rows_of([samples.run(tmp_path, [*records, samples.record("b", (4,))])]).own
    found = build.episodes(own, Without(), Path.is_file, ReadTranscripts(with_pairs=False))
    assert [page.title for page in found.pages] == [
        "a: m, L0, attempt 1, SOLVED@2",
        "a: m, L0, attempt 2, SOLVED@2",
        "b: m, L0, SOLVED@1",
    ]


def test_a_failure_is_shown_without_its_indentation() -> None:
    rows = [">       assert f(x) == 1", "E       assert 2 == 1", "E        +  where 2 = f(3)", "E", "…"]
    assert dedented(rows) == ["> assert f(x) == 1", "E assert 2 == 1", "E  +  where 2 = f(3)", "E", "…"]
    assert dedented(["E", "some text"]) == ["E", "some text"]
    assert dedented([]) == []


@pytest.mark.slow
def test_equal_runs_give_equal_files(played: Path, tmp_path: Path, command: Command) -> None:
    written = []
    for name in ("one", "other"):
        place = shutil.copytree(played, tmp_path / name)
        page_of(place, command)
        done = command(place, "plot", "run", "-o", "figures")
        assert done.returncode == 0, done.stderr
        figures = sorted((place / "figures").iterdir())
        assert [str(path.relative_to(place)) for path in figures] == sorted(done.stdout.split())
        written.append([(path.name, path.read_bytes()) for path in [place / "report.html", *figures]])
    assert written[0] == written[1]
    for name, data in written[0][1:]:
        if name.endswith(".png"):
            assert data.startswith(b"\x89PNG")
        else:
            assert ElementTree.fromstring(data).find("{http://www.w3.org/2000/svg}title") is not None


@pytest.mark.slow
def test_what_must_not_be_shared_is_removed_and_the_page_says_so(project: Path, page: Page, command: Command) -> None:
    place, before = project, page.text
    page = page_of(place, command, "--without=tests,reference", "--without=prompts")
    text = page.text
    for name, contents in PARTS.items():
        assert f"{name}: {contents}" in text
    private = []
    for path in transcripts(place):
        for line in lines(path):
            if line["event"] == "message":
                private.append(line["content"])
            elif line["event"] == "turn":
                private += [row for row in line["targets"]["answer.py"].splitlines() if len(row) > 30]
                private += [
                    row
                    for case in line["verdict"]["cases"]
                    if case["outcome"] != "passed"
                    for row in essence(case["message"])
                    if row.startswith((">", "E "))
                ]
            elif line["event"] == "feedback" and line["level"] == "L4":
                private.append(line["text"].strip())
    reference = (place / "tasks/one/reference/answer.py").read_text()
    private += [row for row in reference.splitlines() if len(row) > 30]
    assert len(private) > 10
    assert any(row in before for row in private)
    assert [row for row in private if row in text] == []
    assert "Your code raised" not in text  # feedback on the code of a simulated model quotes the reference


@pytest.mark.slow
def test_code_before_a_correction_of_a_real_model_stays(project: Path, command: Command) -> None:
    """A real model does not have the reference, so that only what it wrote after L4 can repeat it."""
    for path in [project / "run/results.jsonl", *transcripts(project)]:
        content = lines(path)
        for line in content:
            if "simulated" in line:
                line.update(simulated=False, model="real")
        rewrite(path, content)
    text = page_of(project, command, "--without=reference").text
    unchanged = removed = 0
    for path in transcripts(project):
        for line in lines(path):
            if line["event"] == "turn":
                shown = line["targets"]["answer.py"] in text
                if line["turn"] == 1:
                    assert shown
                    unchanged += 1
                elif line["level"] == "L4":
                    removed += 1
    assert unchanged == 4
    assert text.count("which may repeat the reference") == removed > 0


@pytest.mark.slow
def test_feedback_that_may_contain_code_is_removed(project: Path, command: Command) -> None:
    """--recode-feedback-code=L1 lets code of the reference into feedback of each level from L1 on; L0 has none."""
    for path in [project / "run/results.jsonl", *transcripts(project)]:
        content = lines(path)
        for line in content:
            if "settings" in line:
                line.update(simulated=False, model="real")
                line["settings"]["feedback_code"] = "L1"
            if line.get("event") == "feedback" and line["level"] == "L4":
                line["level"] = "L2"
        rewrite(path, content)
    text = page_of(project, command, "--without=reference").text
    shown = [
        (line["level"], line["text"].strip() in text)
        for path in transcripts(project)
        for line in lines(path)
        if line["event"] == "feedback"
    ]
    assert {level for level, _ in shown} == {"L0", "L2"}
    assert all(there == (level == "L0") for level, there in shown)


@pytest.mark.slow
def test_tests_that_feedback_quotes_are_removed(project: Path, command: Command) -> None:
    quoted = "assert candidate.secret == 1"
    for path in [project / "run/results.jsonl", *transcripts(project)]:
        content = lines(path)
        for line in content:
            if "settings" in line:
                line["settings"]["test_output"] = "full"
            if line.get("event") == "feedback":
                line["text"] += quoted
            if line.get("event") == "message" and line["turn"] > 1:
                line["content"] += quoted
        rewrite(path, content)
    assert quoted in page_of(project, command).text
    assert quoted not in page_of(project, command, "--without=tests").text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.unlink(), "its transcript is missing"),
        (lambda path: path.write_text("{}\n"), "is not a transcript"),
        (lambda path: path.write_text('{"event": "episode"}\n'), "is damaged"),
    ],
)
def test_an_episode_without_a_readable_transcript(
    project: Path, command: Command, change: Callable[[Path], object], reason: str
) -> None:
    change(transcripts(project)[0])
    text = page_of(project, command).text
    assert text.count("There are no turns to show") == 1
    assert reason in text


@pytest.mark.slow
def test_a_record_cannot_name_a_file_outside_of_its_run(project: Path, command: Command) -> None:
    private = project / "private.jsonl"
    shutil.copy(transcripts(project)[0], private)
    content = lines(project / "run/results.jsonl")
    for record, path in zip(content, ["../private.jsonl", str(private)], strict=False):
        record["transcript"] = path
    rewrite(project / "run/results.jsonl", content)
    assert page_of(project, command).text.count("is not a file of the run") == 2


@pytest.mark.slow
def test_a_large_report_is_a_directory(played: Path) -> None:
    own = rows_of([played / "run"]).own
    without = Without(tests=True)
    episodes = build.episodes(own, without, Path.is_file, ReadTranscripts(with_pairs=False))
    report = build.report(own, episodes, [], [], [], without)
    contents = files(report, episodes.pages, most_bytes=1000)
    assert len(contents) == 5
    parsed = {name: Page(text) for name, text in contents.items()}
    for name, page in parsed.items():
        assert "Removed from this report:" in page.text
        for link in page.values("href"):
            path, _, part = link.partition("#")
            target = (Path("/") / name).parent / path if path else Path("/") / name
            found = parsed[target.resolve().relative_to("/").as_posix()]
            assert not part or part in found.values("id"), (name, link)
    assert {link for link in parsed["index.html"].values("href") if link.startswith("episodes/")} == {
        name for name in contents if name != "index.html"
    }


def test_levels_add_up_in_the_figure(played: Path) -> None:
    own = rows_of([played / "run"]).own
    [chart] = [chart for chart in charts(own, labels(own), {}) if chart.name == "levels"]
    for (row, attempts), cells in zip(own.items(), chart.table.rows, strict=True):
        known = [cells.get(f"share_{level}") for level in LEVELS]
        assert known[0] is not None
        assert known[LEVELS.index(row.feedback)] == 100 * sum(attempt.solved_within() for attempt in attempts) / len(
            attempts
        )
        assert sum(share is not None for share in known) == 2
    everything = [attempt for attempts in own.values() for attempt in attempts]
    assert share_of(everything, lambda attempt: solved_level(attempt) is not None) == share_of(
        everything, lambda attempt: attempt.solved_within()
    )


def test_no_line_claims_a_share_at_a_level_that_was_not_given(played: Path) -> None:
    """With L4 alone, nothing is known between none and L4, so that the value of none holds until L4."""
    own = rows_of([played / "run"]).own
    drawn = {chart.name: chart for chart in charts(own, labels(own), {})}
    for name, style in (("levels", "steps-post"), ("turns", "default")):
        axes = Figure().add_subplot()
        drawn[name].panels[0].draw(axes)
        assert {each.lines[0].get_drawstyle() for each in axes.containers} == {style}
    assert "L4 also the correcting code" in drawn["levels"].description


def test_a_line_ends_at_its_limit_on_turns(played: Path) -> None:
    """A row of two turns beside one of four, whose later turns are unknown."""
    own = rows_of([played / "run"]).own
    (short, few), (long, many) = own.items()
    long = replace(long, settings=tuple((key, "4" if key == "turns" else value) for key, value in long.settings))
    first = many[0].turns[0]
    later = [replace(each, row=long, turns=(first,) * 4, solved_turn=4, outcome="solved") for each in many]
    [chart] = [one for one in charts({short: few, long: later}, labels([short, long]), {}) if one.name == "turns"]
    known = [[number for number in range(1, 5) if f"share_{number}" in row] for row in chart.table.rows]
    assert known == [[1, 2], [1, 2, 3, 4]]


@pytest.mark.slow
def test_many_rows_have_panels_with_intervals_and_short_sentences(played: Path) -> None:
    own = rows_of([played / "run"]).own
    many = {
        named: [replace(container, row=named) for container in attempts]
        for model in range(6)
        for row, attempts in own.items()
        for named in (replace(row, model=f"model {model}", differs=""),)
    }
    drawn = {chart.name: chart for chart in charts(many, labels(many), {})}
    assert [panel.title for panel in drawn["turns"].panels] == ["L0", "L0", "L4", "L4"]
    for panel in (*drawn["turns"].panels, *drawn["levels"].panels):
        axes = Figure().add_subplot()
        panel.draw(axes)
        assert [container.has_yerr for container in axes.containers] == [True] * len(axes.containers) != []
    without = Without()
    page = build.report(
        many,
        build.episodes(many, without, Path.is_file, ReadTranscripts(with_pairs=False)),
        [],
        [],
        ["run: interrupted episodes: 3"],
        without,
    )
    assert len(page.answers[0].contrasts) == 11
    assert page.answers[0].headline.count("model ") < 8
    text = files(page, [])["index.html"]
    assert "1 more row<" in text
    assert "run: interrupted episodes: 3" in text
    assert "Fewer than 20 tasks were played by all rows" in text


def overview(place: Path, *records: dict[str, Any]) -> Page:
    """The page of these records, which have no transcripts."""
    own = rows_of([samples.run(place / "run", records)]).own
    without = Without()
    found = build.episodes(own, without, Path.is_file, ReadTranscripts(with_pairs=False))
    return Page(files(build.report(own, found, [], [], [], without), [])["index.html"])


@pytest.mark.slow
def test_a_cell_has_the_result_of_each_attempt(tmp_path: Path) -> None:
    page = overview(
        tmp_path,
        samples.record("a", (1, 3), attempt=2),
        samples.record("a", (0, 1, 4), attempt=1, levels=[None, "L1", "L2"]),
    )
    text = squeezed(page.text)
    assert text.index("1/2") < text.index("✓ turn 3, L2") < text.index("3 of 4")
    assert "A cell with several attempts" in text
    single = squeezed(overview(tmp_path / "single", samples.record("a", (1, 3))).text)
    assert "3 of 4" in single
    assert "several attempts" not in single


def test_equal_rows_are_called_equal(tmp_path: Path) -> None:
    equal = [samples.record(task, (4,), model=model) for task in "ab" for model in "mn"]
    text = squeezed(overview(tmp_path / "equal", *equal).text)
    assert "Equally good on the tasks that both played: n." in text
    assert "is not significant" not in text
    assert "no, equal" in text
    assert "can be significant" not in text
    third = [samples.record(task, (0,), model="o") for task in "ab"]
    text = squeezed(overview(tmp_path / "third", *equal, *third).text)
    assert "The difference from o is not significant (adjusted p is not below 0.05)." in text
    assert (
        "With 2 tasks and 3 pairs of rows, no difference can be significant: the smallest possible adjusted p is 1."
        in text
    )
    assert "Equally good on the tasks that both played: n." in text


def test_the_overview_says_whether_a_difference_could_have_been_significant(tmp_path: Path) -> None:
    """Six tasks that all change the same way give p = 0.031; with three rows, this is multiplied by three."""

    def played(models: str) -> list[dict[str, Any]]:
        return [samples.record(task, (4 if model == "m" else 0,), model=model) for task in "abcdef" for model in models]

    text = squeezed(overview(tmp_path / "two", *played("mn")).text)
    assert "It is better than n (adjusted p < 0.05)." in text
    text = squeezed(overview(tmp_path / "three", *played("mno")).text)
    assert (
        "With 6 tasks and 3 pairs of rows, no difference can be significant: the smallest possible adjusted p is 0.094."
        in text
    )
    assert "6 / 0 of 6 0.031 0.094 model m / n" in text


def test_settings_that_all_rows_share_are_apart_from_those_that_differ(tmp_path: Path) -> None:
    records = [samples.record("a", (4,), model="m", feedback=policy) for policy in ("L0", "L4")]
    text = squeezed(overview(tmp_path / "two", *records).text)
    shared, differing = text.split("Settings and recorded values in which rows differ")
    shared = shared.partition("Settings and recorded values that all rows share")[2]
    assert "test-output none" in shared
    assert "temperature not set" in shared
    assert "rowfeedback L0 L0 L4 L4 Tasks, with the digest" in differing
    text = squeezed(overview(tmp_path / "one", records[0]).text)
    assert "Settings and recorded values settingvalue run run" in text


def test_the_overview_says_what_was_looked_for_and_not_found(tmp_path: Path) -> None:
    lost = [samples.record(task, (), outcome="error") for task in "ab"]
    text = squeezed(overview(tmp_path, samples.record("c", (4,)), *lost).text)
    assert "2 episodes of 3 ended with an error" in text
    assert "(sandbox): 2, of a, b." in text
    _, _, rest = text.partition("Looked for and not found: ")
    names = rest.partition(".")[0].split(", ")
    assert "candidates that interfered with their judge" in names
    assert "errors" not in names


@pytest.mark.slow
def test_a_note_names_the_run_without_its_path(tmp_path: Path, command: Command) -> None:
    directory = samples.run(tmp_path / "private" / "mine", [samples.record("a", (4,))])
    (directory / "unreadable.jsonl").write_text(json.dumps({"task": "broken"}) + "\n")
    done = command(tmp_path, "html", str(directory), "-o", "report.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.html").read_text()
    assert "mine: tasks that could not be read" in text
    assert "private" not in text


@pytest.mark.slow
def test_pairs_of_tasks_with_attempts(tmp_path: Path) -> None:
    """A task that one row solved in both attempts and the other in one shows the attempt in which they differ."""
    records = [
        samples.record("a", passed, model=model, attempt=attempt)
        for model, attempt, passed in (("m", 1, (4,)), ("m", 2, (0, 4)), ("n", 1, (4,)), ("n", 2, (0, 1, 2)))
    ]
    text = squeezed(overview(tmp_path, *records).text)
    assert "m solves 50.00 points more than n; this is not significant" in text
    assert "a: solved in 2 of 2 attempts / solved in 1 of 2 attempts" in text
    assert "a, attempt 2, turn by turn" in text
    assert "1 no feedback: 0 of 4 cases no feedback: 0 of 4 cases 2 L0: 4 of 4 cases L0: 1 of 4 cases 3 ended" in text
    assert "m / n model m / n 100.00 50.00 +50.00" in text
    worse_first = squeezed(overview(tmp_path / "other", *records[2:], *records[:2]).text)
    assert "m / n model m / n 100.00 50.00 +50.00" in worse_first


def test_a_single_row_is_not_compared(tmp_path: Path) -> None:
    one, two = samples.record("a", (4,), model="m"), samples.record("a", (1,), model="n", outcome="unsolved")
    alone, beside = overview(tmp_path / "one", one), overview(tmp_path / "two", one, two)
    for page, compared in ((alone, False), (beside, True)):
        assert ("#compare" in page.values("href")) == ("compare" in page.values("id")) == compared
        assert ("Which row is better" in page.text) == compared
        assert ("What was solved?" in page.text) != compared


def test_answers_that_could_not_be_used_weaken_the_numbers(tmp_path: Path) -> None:
    lost = samples.record(
        "a",
        (),
        turns=[
            samples.turn(1, 0, steps=3, unparsed=2, asked_again=1),
            samples.turn(2, 4, steps=2, unparsed=0, asked_again=0, level="L0"),
        ],
    )
    text = squeezed(overview(tmp_path / "lost", lost).text)
    assert "Unusable answers" in text
    assert (
        "of which nothing was executed: m, L0: 2 of 6, which cost 1 step. The steps of the episodes have the reasons."
        in text
    )
    assert "Unusable answers" not in overview(tmp_path / "none", samples.record("a", (4,))).text


def test_a_note_on_costs_needs_a_column_of_costs(tmp_path: Path) -> None:
    unknown = {"prompt_tokens": 90, "completion_tokens": 10, "cost_usd": None}
    rows = samples.record("a", (4,), model="m", usage=unknown), samples.record("a", (4,), model="n")
    assert "cost -:" in overview(tmp_path / "some", *rows).text
    text = overview(tmp_path / "none", rows[0]).text
    assert "cost -:" not in text
    assert "no cost is shown" in text


@pytest.mark.slow
def test_without_cost_and_tokens_there_is_no_figure_of_costs(tmp_path: Path, command: Command) -> None:
    free = {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0}
    person = samples.record("a", (4,), model=None, agent="person", usage=free)
    text = squeezed(overview(tmp_path / "person", person).text)
    assert 'No figure "Cost and solved episodes": no row has a cost or tokens above 0.' in text
    assert "no other row is cheaper" not in text
    done = command(tmp_path, "plot", "person/run", "-o", "figures")
    assert_message(done.stderr, "Cost and solved episodes", "no row has a cost or tokens above 0")
    assert sorted(done.stdout.split()) == ["figures/solved.png", "figures/solved.svg"]
    text = squeezed(overview(tmp_path / "both", person, samples.record("a", (4,), model="m")).text)
    assert "no other row is cheaper" in text
    assert "No figure" not in text


def test_the_overview_says_what_was_spent_and_when(played: Path, page: Page) -> None:
    records = lines(played / "run/results.jsonl")
    paid = {path.name: lines(path) for path in transcripts(played)}
    tokens = sum(
        line["prompt_tokens"] + line["completion_tokens"]
        for content in paid.values()
        for line in content
        if line["event"] == "usage"
    )
    times = [line["time"] for content in paid.values() for line in content]
    first, last = (datetime.fromtimestamp(time, UTC) for time in (min(times), max(times)))
    text = squeezed(page.text)
    assert f"All rows together: {len(records)} episodes, {tokens:,} tokens, 0.00 US dollars." in text
    assert f"Played {first:%Y-%m-%d}" in text
    assert f"{last:%H:%M} UTC with pytest-recode {VERSION}." in text


HOSTILE = (
    "\"'><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\"></pre></title></style></svg>"
    "<svg onload=\"document.title='pwned'\"> {{7*7}} $\\frac{$ javascript:alert(1) \x1b[2J\x1b]0;title\x07\u202egnp.exe\x00 & &lt;b&gt; -->"
)
FORMULA = '=HYPERLINK("http://example.org","x")'


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a text: its container, with the key or index."""
    for key, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(member, str):
            yield value, key
        elif isinstance(member, dict | list):
            yield from places(member)


def poisoned(line: dict[str, Any], check: Callable[[dict[str, Any]], object], text: str) -> int:
    """Put a hostile text into every text of `line` that a reader of it accepts. Returns the number of them."""
    count = 0
    for container, key in places(line):
        before = container[key]
        if key in ("transcript", "event"):
            continue
        container[key] = text
        try:
            check(line)
            count += 1
        except DamagedError:
            container[key] = before
    return count


def check_line(line: Any) -> None:
    events = ("episode", "resumed", "usage", "retry", "turn", "end", "feedback")
    checked_line(line, events)
    if line["event"] == "turn":
        case_messages(line)


def poison(place: Path) -> None:
    """Make every text of a run hostile: the records, each line of the transcripts, and the names of targets."""
    numbers = itertools.count()
    records = lines(place / "run/results.jsonl")
    for number, record in enumerate(records):
        # Episodes of one row need different tasks
        assert poisoned(record, checked_record, f"{HOSTILE if number % 2 else FORMULA} {number}") > 20
    rewrite(place / "run/results.jsonl", records)
    for path in transcripts(place):
        content = lines(path)
        for line in content:
            poisoned(line, check_line, f"{HOSTILE} {next(numbers)}")
            if line["event"] == "turn":
                line["targets"] = {f"{HOSTILE} {next(numbers)}": text for text in line["targets"].values()}
        rewrite(path, content)


def variants(content: list[dict[str, Any]]) -> Iterator[None]:
    """Put values of other types into each field of each kind of line, one at a time, and remove it."""
    seen = set()

    def walk(value: Any, path: tuple[object, ...]) -> Iterator[tuple[Any, Any, tuple[object, ...]]]:
        for key, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
            here = (*path, key if isinstance(key, str) else 0)
            yield value, key, here
            if isinstance(member, dict | list):
                yield from walk(member, here)

    for line in content:
        for container, key, path in walk(line, (line["event"],)):
            if path in seen:
                continue
            seen.add(path)
            before = dict(container) if isinstance(container, dict) else list(container)
            for other in (7, True, None, "x", [], [7], {}):
                container[key] = other
                yield
            if isinstance(container, dict):
                del container[key]
                yield
                container.clear()
                container.update(before)
            else:
                container[:] = before


@pytest.mark.slow
def test_transcripts_with_fields_of_other_types_are_shown_or_said_to_be_damaged(played: Path, tmp_path: Path) -> None:
    own = rows_of([played / "run"]).own
    attempt = next(each for row, group in own.items() if row.feedback == "L4" for each in group)
    assert attempt.transcript is not None
    content = lines(attempt.transcript)
    path = tmp_path / "changed.jsonl"
    changed = replace(attempt, transcript=path)
    shown = damaged = 0
    for _ in variants(content):
        rewrite(path, content)
        [view] = build.episodes(
            {changed.row: [changed]},
            Without(tests=True, reference=True),
            Path.is_file,
            ReadTranscripts(with_pairs=False),
        ).pages
        if "There are no turns to show" in view.body:
            damaged += 1
        else:
            shown += 1
            assert painted(
                show_lines(read_episode(path), ShownParts(prompts=True)), colour=False
            )  # the terminal shows it, too
    assert shown > 100
    assert damaged > 100


def assert_harmless(page: Page, title: str) -> None:
    names = [tag for tag, _ in page.tags]
    assert names.count("script") == 1
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(names) - {"form"}
    assert [key for _, attrs in page.tags for key in attrs if key.startswith("on")] == []
    assert {each[0] for each in page.values("href")} == {"#"}
    assert page.own["title"] == [title]


@pytest.mark.slow
def test_hostile_records_stay_text(project: Path, command: Command) -> None:
    poison(project)
    page = page_of(project, command)
    assert_harmless(page, "pytest-recode report: run")
    assert page.text.count("<script>document.title='pwned'</script>") > 20
    assert "{{7*7}}" in page.text
    assert "&lt;b&gt;" in page.text
    assert "\\x1b[2J" in page.text
    assert set(page.text) & set("\x1b\x07\u202e\x00") == set()
    cells = re.findall(r"<t[dh][^>]*>(=[^<]*)", (project / "report.html").read_text())
    assert cells == []  # a spreadsheet would compute them


@pytest.mark.slow
def test_hostile_names_in_figures(project: Path) -> None:
    poison(project)
    own = rows_of([project / "run"]).own
    for chart in charts(own, labels(own), {}):
        page = Page("".join(inline(chart)))
        assert "script" not in [tag for tag, _ in page.tags]
        assert page.values("style") == []
        assert ElementTree.fromstring(svg(chart)).tag.endswith("svg")
        assert png(chart).startswith(b"\x89PNG")


def test_tables_of_episodes_that_were_read_are_those_of_their_files(project: Path) -> None:
    path = next(
        path for path in (project / "run/episodes").glob("*.jsonl") if '"event": "feedback"' in path.read_text()
    )
    lines = path.read_text().splitlines(keepends=True)
    retry = {"event": "retry", "time": 1.0, "model": MODEL, "error": "model:rate-limit", "message": "", "pause": 0.1}
    path.write_text("".join([lines[0], json.dumps(retry) + "\n", *lines[1:]]))
    grouped = rows_of([project / "run"])
    transcripts = ReadTranscripts(with_pairs=True)
    build.episodes(grouped.own, Without(), Path.is_file, transcripts)
    names = ("calls", "leaks", "adoption", "adoption-categories")
    of_files, of_episodes = (makers(grouped, known={}, transcripts=each) for each in (FROM_FILES, transcripts.reader))
    assert "retry" in [line["event"] for line in transcripts.reader.calls(path)]
    for name in names:
        assert of_episodes[name]() == of_files[name]() is not None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_each_transcript_is_read_once(project: Path) -> None:
    command = [sys.executable, "-m", "pytest_recode.cli", "html", "run", "-o", "report.html"]
    trace = ["strace", "-f", "-e", "trace=openat", "-o", "opened"]
    subprocess.run([*trace, *command], cwd=project, check=True, capture_output=True)
    opened = re.findall(r'episodes/([^"]+\.jsonl)"', (project / "opened").read_text())
    assert set(opened) == {path.name for path in (project / "run/episodes").glob("*.jsonl")}
    assert max(map(opened.count, opened)) == 1


def dom(path: Path, *more: str) -> str:
    """The page after its scripts ran in a browser."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs chromium: apt-get install chromium")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent / 'browser'}", *more]
    done = subprocess.run(
        [browser, *options, "--dump-dom", path.as_uri()], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout


@pytest.mark.slow
def test_no_page_is_wider_than_a_narrow_window(tmp_path: Path) -> None:
    """A frame of 420 pixels reports the width that each page of the report needs."""
    models = [f"organisation/a-model-with-a-long-name-{number}" for number in range(3)]
    records = [
        samples.record(task, (1, 4 if task < model[-1] else 2), model=model) for model in models for task in "012"
    ]
    own = rows_of([samples.run(tmp_path / "run", records)]).own
    without = Without()
    found = build.episodes(own, without, Path.is_file, ReadTranscripts(with_pairs=False))
    text = files(build.report(own, found, [], [], [], without), found.pages)["index.html"]
    (tmp_path / "report.html").write_text(text, "utf-8")
    ids = ("overview", "tasks", "compare", "provenance", "tables", "e1")
    (tmp_path / "frame.html").write_text(
        "<iframe id=frame width=420 height=900 src=report.html></iframe><pre id=found></pre><script>"
        "frame.onload = () => {const page = frame.contentWindow; let said = ''; page.document.querySelectorAll('details').forEach((one) => {one.open = true;});"
        f"for (const id of {json.dumps(ids)}) {{page.document.querySelectorAll('.page').forEach((one) => one.classList.toggle('current', one.id === id));"
        "said += id + ' ' + page.document.documentElement.scrollWidth + ' ';} found.textContent = said;}</script>"
    )
    said = Page(dom(tmp_path / "frame.html", "--allow-file-access-from-files")).text
    widths = dict(re.findall(r"(\w+) (\d+) ", said))
    assert set(widths) == set(ids)
    assert {name for name, width in widths.items() if int(width) > 420} == set()


@pytest.mark.slow
def test_hostile_records_in_a_browser(project: Path, command: Command) -> None:
    poison(project)
    page_of(project, command)
    shown = Page(dom(project / "report.html"))
    assert_harmless(shown, "pytest-recode report: run")
    assert shown.tags[0][1].get("class") == "script"  # the page's own script ran
    assert [attrs["id"] for _, attrs in shown.tags if "current" in attrs.get("class", "").split()] == ["overview"]


@pytest.mark.slow
def test_a_script_that_got_into_the_page_does_not_run(project: Path, command: Command) -> None:
    page_of(project, command)
    path = project / "report.html"
    evil = "<script>document.title = 'pwned'</script><img src=x onerror=\"document.title = 'pwned'\">"
    text = path.read_text()
    path.write_text(text.replace("</main>", f"{evil}</main>"))
    assert Page(dom(path)).own["title"] == ["pytest-recode report: run"]
    # The same page without its policy: the check can fail
    path.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", path.read_text()))
    assert Page(dom(path)).own["title"] == ["pwned"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "subject", "step"),
    [
        (["html", "nowhere"], "nowhere: no such file", "give a results.jsonl"),
        (["html", "run", "--model=gpt"], "--model=gpt: no such row", "the models are"),
        (
            ["html", "run", "-o", "pytest.ini/report.html"],
            "pytest.ini/report.html cannot be written",
            "give another -o",
        ),
        (["plot", "run", "-o", "pytest.ini"], "cannot be written", "give another -o"),
        (
            ["html", "run", "--without=everything"],
            "--without=everything: there is no such part",
            "choose from tests, reference, prompts",
        ),
    ],
)
def test_what_cannot_be_done_is_said(
    played: Path, command: Command, arguments: list[str], subject: str, step: str
) -> None:
    done = command(played, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, subject, step)


@pytest.mark.parametrize("name", ["html", "plot"])
def test_a_missing_package_is_one_line(played: Path, name: str) -> None:
    code = f"import sys; sys.modules['jinja2'] = None; from pytest_recode.cli import main; sys.exit(main(['{name}', 'run']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=played, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, "requires jinja2, which is not installed", "pip install 'pytest-recode[html]'")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_commands_of_the_guide(project: Path, command: Command) -> None:
    """They are of a run in `run`."""
    page = Path(__file__).resolve().parents[1] / "docs/how-to/share-a-report.md"
    commands = re.findall(r"^\$ pytest-recode (.*)$", page.read_text(), re.MULTILINE)
    assert len(commands) >= 3
    for each in commands:
        done = command(project, *shlex.split(each))
        assert done.returncode == 0, done.stderr

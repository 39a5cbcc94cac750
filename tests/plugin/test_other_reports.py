"""pytest-html and allure: each episode has its page, unsolved is failed, and errors of the model or of infrastructure are errors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

AGENTS = """\
import os
import signal

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move
from pytest_recode.faults import ModelError, ModelFault

RIGHT = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"
HOSTILE = "# </iframe><script>document.title = 'pwned'</script>\\ndef twice(x):\\n    return x + x\\n"


class Dies:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        if brief.task == "down" and feedback is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        workspace.write("answer.py", RIGHT if brief.task == "solved" else HOSTILE)
        return Move(steps=1)


DIES = AgentKind(make=Dies, needs_model=False)


class ByTask:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        if brief.task == "down":
            raise ModelError(ModelFault.SERVER, "a-model", "503")
        workspace.write("answer.py", RIGHT if brief.task == "solved" else HOSTILE)
        return Move(steps=1)


BY_TASK = AgentKind(make=ByTask, needs_model=False)
"""
GIVEN = ("--recode-agent=by_task:BY_TASK", "--recode-feedback=L0", "--recode-turns=2", "--recode-out=out")
IDS = {task: f"bench/{task}/task.yaml::episode[by_task:BY_TASK-L0]" for task in ("solved", "unsolved", "down")}


@pytest.fixture
def bench(make_task: MakeTask, pytester: pytest.Pytester) -> None:
    """Three tasks: one is solved, one is not, and with one the model is down."""
    pytester.makepyfile(by_task=AGENTS)
    pytester.syspathinsert()
    for task in IDS:
        make_task(task)


def allure_results(place: Path) -> dict[str, dict[str, Any]]:
    """The results in a directory, by the first word of their names."""
    found = [json.loads(path.read_text()) for path in place.glob("*-result.json")]
    assert len({each["name"] for each in found}) == len(found)
    return {each["name"].partition(":")[0]: each for each in found}


def attached(place: Path, result: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: (place / each["source"]).read_text() for each in result.get("attachments", [])}


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_allure_has_names_parameters_attachments_and_distinguishes_failed_from_broken(
    recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    assert recode(workers, *GIVEN, "--alluredir=results").ret == 1
    place = pytester.path / "results"
    found = allure_results(place)
    assert {name: each["status"] for name, each in found.items()} == {
        "solved": "passed",
        "unsolved": "failed",
        "down": "broken",
    }
    unsolved = found["unsolved"]
    assert unsolved["name"] == "unsolved: Twice and half"
    assert {each["name"]: each["value"] for each in unsolved["parameters"]} == {
        "agent": "'by_task:BY_TASK'",
        "feedback": "'L0'",
        "attempt": "1",
    }
    assert unsolved["statusDetails"]["message"].startswith("Unsolved: not solved in 2 turns")
    assert "a-model: server: 503" in found["down"]["statusDetails"]["message"]
    files = attached(place, unsolved)
    assert list(files) == ["Episode", "Transcript"]
    assert files["Episode"].startswith("<!DOCTYPE html>")
    assert "Turn 2: 1 of 2 cases pass" in files["Episode"]
    [transcript] = (pytester.path / "out/episodes").glob("unsolved-*.jsonl")
    assert files["Transcript"] == transcript.read_text()
    assert "a-model: server: 503" in attached(place, found["down"])["Episode"]


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_in_allure_expected_failures_are_skipped_as_in_junit(
    recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    recode(workers, *GIVEN, "--recode-fail-under=10", "--alluredir=results")
    found = allure_results(pytester.path / "results")
    assert {name: each["status"] for name, each in found.items()} == {
        "solved": "passed",
        "unsolved": "skipped",
        "down": "broken",
    }


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_allure_keeps_the_histories_of_models_apart_and_names_what_was_not_played(
    recode: Run, pytester: pytest.Pytester
) -> None:
    given = ("--recode-model=sim/novice", "--recode-model=sim/graduate", "--recode-turns=1", "-k", "solved")
    recode("-n0", *given, "--alluredir=results", "--recode-out=out")
    found = [json.loads(path.read_text()) for path in (pytester.path / "results").glob("*-result.json")]
    assert len({each["historyId"] for each in found}) == len(found) == 4
    recode("-n0", "--alluredir=skipped")
    skipped = allure_results(pytester.path / "skipped")
    assert {name: each["status"] for name, each in skipped.items()} == dict.fromkeys(IDS, "skipped")
    assert not any(each.get("attachments") for each in skipped.values())


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_a_check_of_a_task_has_its_name_in_allure(recode: Run, pytester: pytest.Pytester) -> None:
    recode("-n0", "--recode-validate", "-k", "solved and reference", "--alluredir=results")
    found = [json.loads(path.read_text()) for path in (pytester.path / "results").glob("*-result.json")]
    assert found
    assert {"name": "check", "value": "'reference'"} in [
        {"name": each["name"], "value": each["value"]} for result in found for each in result["parameters"]
    ]


class Blob(HTMLParser):
    """The data in a page of pytest-html, and the counts beside its filters."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.data: dict[str, Any] = {}
        self.feed(text)
        self.counts = {
            word: int(number) for number, word in re.findall(r"(\d+) (Failed|Passed|Errors)", unescape(text))
        }

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if blob := dict(attrs).get("data-jsonblob"):
            self.data = json.loads(blob)

    def result(self, nodeid: str) -> str:
        [test] = self.data["tests"][nodeid]
        return re.sub("<[^>]*>", "", test["resultsTableRow"][0])

    def extra(self, nodeid: str) -> dict[str, Any]:
        [test] = self.data["tests"][nodeid]
        [extra] = test["extras"]
        return dict(extra)


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_pytest_html_links_to_the_page_of_each_episode(recode: Run, pytester: pytest.Pytester, workers: str) -> None:
    assert recode(workers, *GIVEN, "--html=shown/report.html").ret == 1
    page = Blob((pytester.path / "shown/report.html").read_text())
    assert {task: page.result(nodeid) for task, nodeid in IDS.items()} == {
        "solved": "Passed",
        "unsolved": "Failed",
        "down": "Error",
    }
    assert page.counts == {"Failed": 1, "Passed": 1, "Errors": 1}
    link = page.extra(IDS["unsolved"])
    assert (link["name"], link["format_type"]) == ("Episode", "text")
    episode = (pytester.path / "shown" / link["content"]).read_text()
    assert link["content"].endswith(".html")
    assert "Turn 2: 1 of 2 cases pass" in episode
    assert "pwned" in episode
    assert "<script>document.title" not in episode
    assert "a-model: server: 503" in (pytester.path / "shown" / page.extra(IDS["down"])["content"]).read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_the_self_contained_page_of_pytest_html_contains_the_episodes(
    recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    recode(workers, *GIVEN, "--html=report.html", "--self-contained-html", "-k", "unsolved")
    extra = Blob((pytester.path / "report.html").read_text()).extra(IDS["unsolved"])
    assert extra["format_type"] == "html"
    assert "iframe sandbox" in extra["content"]
    assert "Turn 2: 1 of 2 cases pass" in unescape(extra["content"])
    assert list(pytester.path.glob("assets/*")) == []


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize("task", ["down", "solved"])
def test_an_episode_whose_worker_died_is_an_error_of_every_report(
    recode: Run, pytester: pytest.Pytester, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`task`: the worker dies after a graded turn of "down", or before the episode of "solved" begins, where nothing is to be shown."""
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    before = (
        "import os\nimport signal\n\n\ndef pytest_runtest_call(item):\n"
        f"    if item.nodeid.startswith('bench/{task}/'):\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    if task == "solved":
        pytester.makeconftest(before)
    given = [each.replace("BY_TASK", "DIES") for each in GIVEN]
    outputs = ("--html=report.html", "--alluredir=results", "--junitxml=junit.xml")
    recode("-n2", *given, *outputs, "-k", f"{task} or unsolved").assert_outcomes(failed=1, errors=1)
    lost, other = (IDS[each].replace("BY_TASK", "DIES") for each in (task, "unsolved"))

    page = Blob((pytester.path / "report.html").read_text())
    assert (page.result(lost), page.result(other)) == ("Error", "Failed")
    assert page.counts == {"Failed": 1, "Passed": 0, "Errors": 1}

    results = [json.loads(path.read_text()) for path in (pytester.path / "results").glob("*-result.json")]
    [broken] = [each for each in results if each["status"] == "broken"]
    [failed] = [each for each in results if each["status"] == "failed"]
    assert len(results) == 2
    assert "crashed while running" in broken["statusDetails"]["message"]
    assert broken["name"] == f"{task}: Twice and half"
    assert broken["parameters"] == failed["parameters"]
    assert broken["titlePath"] == ["bench", task, "task.yaml"]
    assert broken.keys() - {"attachments"} == failed.keys() - {"attachments"}

    def labels(result: dict[str, Any]) -> list[str]:
        return sorted(label["name"] for label in result["labels"])

    assert labels(broken) == labels(failed)

    cases = {case.get("classname"): case for case in ElementTree.parse(pytester.path / "junit.xml").iter("testcase")}
    [case] = [case for name, case in cases.items() if name and f".{task}." in f"{name}."]
    assert [child.tag for child in case if child.tag in ("error", "failure")] == ["error"]
    if task == "down":
        extra = page.extra(lost)
        assert "Turn 1: 1 of 2 cases pass" in (pytester.path / extra["content"]).read_text()
        files = attached(pytester.path / "results", broken)
        assert "Turn 1: 1 of 2 cases pass" in files["Episode"]
        [transcript] = (pytester.path / "out/episodes").glob(f"{task}-*.jsonl")
        assert files["Transcript"] == transcript.read_text()
        properties = {each.get("name"): each.get("value") for each in case.iter("property")}
        assert (properties["recode_task"], properties["recode_error"]) == (task, "worker")


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_a_browser_shows_the_episode_in_the_page_of_pytest_html(recode: Run, pytester: pytest.Pytester) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs chromium: apt-get install chromium")
    recode("-n0", *GIVEN, "--html=report.html", "--self-contained-html", "-k", "unsolved")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={pytester.path / 'browser'}"]
    command = [browser, *options, "--dump-dom", (pytester.path / "report.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    assert re.search(r'<div class="extraHTML"><div><iframe sandbox=""', shown)
    assert '<title id="head-title">report.html</title>' in shown


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_without_jinja_the_page_is_text(recode: Run, pytester: pytest.Pytester) -> None:
    """pytest-html needs Jinja itself; allure does not."""
    pytester.makeconftest(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'jinja2' else find(name, *rest)\n"
    )
    recode("-n0", *GIVEN, "--alluredir=results", "-k", "unsolved")
    [result] = allure_results(pytester.path / "results").values()
    text = attached(pytester.path / "results", result)["Episode"]
    assert "Turn 2" in text
    assert "<html" not in text


@pytest.mark.slow
@pytest.mark.usefixtures("bench")
def test_sessions_without_tasks_and_without_reports_import_nothing_more(recode: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\n\ndef test_it():\n"
        "    assert not {'pytest_recode.plugin.reports.html_report', 'pytest_recode.plugin.reports.allure_report'} & sys.modules.keys()\n"
    )
    shutil.rmtree(pytester.path / "bench")
    assert "1 passed" in words(recode("-n0"))
    pytester.makepyfile("def test_it():\n    assert False\n")
    assert "1 failed" in words(recode("-n0", "--html=report.html", "--alluredir=results"))
    assert Blob((pytester.path / "report.html").read_text()).counts == {"Failed": 1, "Passed": 0, "Errors": 0}
    [result] = (json.loads(path.read_text()) for path in (pytester.path / "results").glob("*-result.json"))
    assert (result["name"], result["status"]) == ("test_it", "failed")

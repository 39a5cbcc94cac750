"""Calls of a program at the same time, and calls that are open when something else ends: behind the real gateway, in a real sandbox."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, Request, fault, say, silent
from tests.plugin.conftest import words

from .played_script import BEGIN
from .scripted import RIGHT, WRONG

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Given = Callable[..., list[str]]

TOGETHER = f"""{BEGIN}
import threading

RIGHT, WRONG = {RIGHT!r}, {WRONG!r}


def together(*texts):
    \"\"\"Ask for all of them at the same time, beside the conversation; the answers or errors in their order.\"\"\"
    found = [None] * len(texts)

    def one(number, text):
        body = {{"model": "m", "max_tokens": 9, "messages": [{{"role": "user", "content": text}}]}}
        request = urllib.request.Request(url + "/v1/messages", json.dumps(body).encode(), {{"x-api-key": key}})
        try:
            found[number] = json.load(urllib.request.urlopen(request))["content"][0]["text"]
        except Exception as error:
            found[number] = type(error).__name__

    threads = [threading.Thread(target=one, args=each) for each in enumerate(texts)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


"""


@pytest.fixture
def given(make_task: MakeTask, tmp_path_factory: pytest.TempPathFactory) -> Given:
    """The options of a run in which a script plays one task of one turn."""

    def options(script: str, server: ChatServer, *more: str) -> list[str]:
        program = tmp_path_factory.mktemp("program") / "agent.py"
        program.write_text(TOGETHER + script)
        program.chmod(0o755)
        make_task("a")
        own = [
            "--recode-agent=claude-code",
            f"--recode-agent-path=claude-code={program}",
            "--recode-sandbox=bubblewrap",
        ]
        model = [] if any("--recode-model=" in each for each in more) else ["--recode-model=openai/local"]
        turns = [] if any("--recode-turns=" in each for each in more) else ["--recode-turns=1"]
        return [*own, *model, *turns, f"--recode-api-base={server.url}", "--recode-out=out", *more]

    return options


class Gathering:
    """A script of a server that answers `number` requests only when all of them have come, each with its own prompt."""

    def __init__(self, number: int) -> None:
        self._missing = number
        self._lock = threading.Lock()
        self._all = threading.Event()

    def __call__(self, request: Request) -> Answer:
        if not request.prompt.startswith("part"):
            return say("I have done what was asked for.")
        with self._lock:
            self._missing -= 1
            if not self._missing:
                self._all.set()
        return say(f"An answer to {request.prompt}.", wait=self._all)


def spending(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    lines = (pytester.path / "out" / "spending.jsonl").read_text().splitlines()
    return [entry for line in lines if "model" in (entry := json.loads(line))]


def program_lines(pytester: pytest.Pytester, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    lines = map(json.loads, (pytester.path / "out" / record["transcript"]).read_text().splitlines())
    return [line for line in lines if line["event"] == "program"]


def test_calls_of_one_program_are_at_the_provider_together(
    given: Given, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    script = "ask()\nprint(together(*[f'part {n}' for n in range(6)]))\nwrite(RIGHT)\n"
    with ChatServer(Gathering(6)) as server:
        recode(*given(script, server)).assert_outcomes(passed=1)
        assert len(server.requests) == 7
    (record,) = results()
    assert record["turns"][0]["steps"] == 7
    assert record["usage"]["prompt_tokens"] == 77
    (line,) = program_lines(pytester, record)
    assert line["output"] == f"{[f'An answer to part {n}.' for n in range(6)]}\n"


TABLE = "local:\n  model: openai/local\n  price: {prompt: 1000, completion: 1000}\n  params: {max_tokens: 10}\n"


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("budget", "error"), [("0.06", None), ("0.02", "budget")], ids=["suffices", "is spent"])
def test_calls_at_the_same_time_share_a_budget_that_allows_one_of_them(
    budget: str, error: str | None, given: Given, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """What a call may cost is more than the budget, so that one waits for the other."""
    (pytester.path / "models.yaml").write_text(TABLE)
    script = "ask()\nprint(together('part 1', 'part 2'))\nwrite(RIGHT)\n"
    money = ("--recode-model=local", "--recode-models-file=models.yaml", f"--recode-max-cost={budget}")
    with ChatServer(lambda _: say("An answer.")) as server:
        recode(*given(script, server, *money))
    (record,) = results()
    assert (record["error"] or {}).get("kind") == error
    assert len(spending(pytester)) == (2 if error else 3)


LIMITS = {
    "the turn's limit": (["--recode-agent-seconds=8"], "solved", None),
    "pytest-timeout": (["--timeout=20"], "error", "model:timeout"),
    "pytest-timeout in flight": (["--timeout=20", "--recode-in-flight=2"], "error", "model:timeout"),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("limit", "outcome", "error"), LIMITS.values(), ids=LIMITS)
def test_a_limit_ends_calls_that_are_open(
    limit: list[str],
    outcome: str,
    error: str | None,
    given: Given,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    """Of a provider that never answers two of three."""
    script = "ask()\nwrite(RIGHT)\ntogether('part 1', 'part 2')\n"
    with ChatServer(lambda request: silent() if request.prompt.startswith("part") else say("An answer.")) as server:
        result = recode(*given(script, server, *limit))
        assert len(server.requests) == 3
    (record,) = results()
    assert (record["outcome"], (record["error"] or {}).get("kind")) == (outcome, error)
    assert [line.get("unanswered") for line in spending(pytester)] == [None, "cut off", "cut off"]
    assert "Traceback" not in words(result)
    if outcome == "solved":
        assert [turn["stopped"] for turn in record["turns"]] == ["time"]
        assert [line["cut_off"] for line in program_lines(pytester, record)] == [2]


@pytest.mark.slow
def test_a_turn_without_an_answer_in_its_time_is_the_models_error(given: Given, recode: Run, results: Results) -> None:
    with ChatServer(lambda _: silent()) as server:
        result = recode(*given("write(RIGHT)\nask()\n", server, "--recode-agent-seconds=8"))
    (record,) = results()
    assert record["error"]["kind"] == "model:timeout"
    assert "raise --recode-agent-seconds" in words(result)


@pytest.mark.slow
def test_time_that_a_call_waits_is_not_the_programs(given: Given, recode: Run, results: Results) -> None:
    answers = [fault(429, retry_after="9"), say("An answer.")]
    with ChatServer(answers) as server:
        recode(*given("ask()\nwrite(RIGHT)\n", server, "--recode-agent-seconds=8")).assert_outcomes(passed=1)
    (record,) = results()
    assert [turn.get("stopped") for turn in record["turns"]] == [None]


@pytest.mark.slow
def test_steps_are_calls_that_were_begun(given: Given, recode: Run, results: Results) -> None:
    """Six at once where three are left: the answers of the three are awaited."""
    script = "ask()\nwrite(RIGHT)\ntogether(*[f'part {n}' for n in range(6)])\ntime.sleep(600)\n"
    with ChatServer(Gathering(3)) as server:
        recode(*given(script, server, "--recode-steps=4")).assert_outcomes(passed=1)
        assert len(server.requests) == 4
    (record,) = results()
    assert [(turn["steps"], turn["stopped"]) for turn in record["turns"]] == [(4, "steps")]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_no_answer_that_was_on_its_way_is_paid_for_twice(
    number: signal.Signals, given: Given, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """The run is cut off while two calls of its program are at the provider, and resumed."""
    both, go = threading.Barrier(3), threading.Event()

    def answer(request: Request) -> Answer:
        if request.number in (1, 2):
            both.wait(60)
            return say(f"An answer of some length to {request.prompt}.", wait=go)
        return say(f"An answer of some length, number {request.number}.")

    script = "ask()\nprint(together('part 1', 'part 2'))\nask('more')\nwrite(RIGHT)\n"
    with ChatServer(answer) as server:
        options = given(script, server)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        run = subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        both.wait(120)
        run.send_signal(number)
        go.set()
        output, _ = run.communicate(timeout=120)
        again = recode(*options, "--recode-resume")
        again.assert_outcomes(passed=1)
        assert len(server.requests) == 4
    assert "Traceback" not in output + words(again)
    (record,) = results()
    assert record["usage"]["prompt_tokens"] == 44
    assert [turn["steps"] for turn in record["turns"]] == [4]
    paid = [line for line in spending(pytester) if "unanswered" not in line]
    assert len(paid) == 4

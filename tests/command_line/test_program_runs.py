"""Runs of programs that are cut off, resumed, shared, replayed, or whose provider fails: a script plays, behind the real gateway."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, Request, dropped, fault, say, silent
from tests.plugin.conftest import words

from .played_script import BEGIN
from .scripted import RIGHT, WRONG

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

PLAYS = f"{BEGIN}ask()\nask('Is it right?')\nwrite({RIGHT!r} if turn == 3 else {WRONG!r})\n"
"""Two calls in each turn, solved in the third."""
SWALLOWS = f"{BEGIN}write({RIGHT!r})\ntry:\n    ask()\nexcept BaseException:\n    pass\nsys.exit(0)\n"
"""Ends as if nothing had happened when its model fails."""


@pytest.fixture
def options(make_task: MakeTask, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """The options of a run in which a script plays one task."""

    def given(script: str, server: ChatServer, *more: str) -> list[str]:
        program = tmp_path_factory.mktemp("program") / "agent.py"
        program.write_text(script)
        program.chmod(0o755)
        make_task("a")
        own = [
            "--recode-agent=claude-code",
            f"--recode-agent-path=claude-code={program}",
            "--recode-model=openai/local",
        ]
        return [*own, f"--recode-api-base={server.url}", "--recode-sandbox=bubblewrap", "--recode-out=out", *more]

    return given


COMMAND = f"""#!/usr/bin/python3
import json, os, pathlib, sys, urllib.request

kept = pathlib.Path(os.environ["RECODE_STATE"], "messages.json")
messages = json.loads(kept.read_text()) if kept.exists() else []


def ask(text):
    messages.append({{"role": "user", "content": text}})
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({{"model": os.environ["RECODE_MODEL"], "messages": messages}}).encode(),
        {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}},
    )
    messages.append(json.load(urllib.request.urlopen(request))["choices"][0]["message"])
    kept.write_text(json.dumps(messages))


def play(prompt):
    ask(prompt)
    ask("Is it right?")
    calls = sum(message["role"] == "assistant" for message in messages)
    pathlib.Path("answer.py").write_text({RIGHT!r} if calls == 6 else {WRONG!r})


"""
"""A program of the user's that makes two calls in each turn, and solves the third."""
USERS = {
    "command:": f"{COMMAND}play(sys.stdin.read())\n",
    "acp:": f"""{COMMAND}for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "session/prompt":
        play(asked["params"]["prompt"][0]["text"])
    if asked["method"] == "session/load" and asked["params"]["sessionId"] != "one":
        sys.exit(5)
    result = {{"protocolVersion": 1, "agentCapabilities": {{"loadSession": True}}, "sessionId": "one", "stopReason": "end_turn"}}
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": result}}), flush=True)
""",
}


def judged(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        record["outcome"],
        [(turn["passed"], turn["steps"], turn["usage"]) for turn in record["turns"]],
        record["usage"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_run_that_is_cut_off_in_a_turn_pays_for_no_answer_twice(
    number: signal.Signals,
    at: int,
    options: Callable[..., list[str]],
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    """While the provider answers call `at` (from 0) of six."""
    asked, answer = threading.Event(), threading.Event()

    def script(request: Request) -> Answer:
        if request.number != at:
            return say(f"An answer of some length, number {request.number}.")
        asked.set()
        return Answer(text="The answer that was in progress.", wait=answer)

    with ChatServer(script) as server:
        given = options(PLAYS, server)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *given]
        run = subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert asked.wait(120)
        run.send_signal(number)
        answer.set()
        output, _ = run.communicate(timeout=120)
        again = recode(*given, "--recode-resume")
    again.assert_outcomes(passed=1)
    assert "Traceback" not in output + words(again)
    assert len(server.requests) == 6
    (record,) = results()
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert [turn["steps"] for turn in record["turns"]] == [2, 2, 2]
    assert record["usage"]["prompt_tokens"] == 66


@pytest.mark.slow
@pytest.mark.parametrize("prefix", USERS)
def test_a_program_of_the_user_goes_on_after_the_run_was_killed_in_its_second_turn(
    prefix: str, make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """In a new sandbox, with the state that was stored with the first turn."""
    make_task("a")
    program = pytester.path / "agent.py"
    program.write_text(USERS[prefix])
    program.chmod(0o755)
    asked, answer = threading.Event(), threading.Event()

    def script(request: Request) -> Answer:
        if request.number == 3:
            asked.set()
        return Answer(
            text=f"An answer of some length, number {request.number}.", wait=answer if request.number == 3 else None
        )

    with ChatServer(script) as server:
        own = [f"--recode-agent={prefix}./agent.py", "--recode-model=openai/local", "--recode-sandbox=bubblewrap"]
        given = [*own, f"--recode-api-base={server.url}", "--recode-out=out"]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *given]
        with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
            assert asked.wait(120)
            run.kill()
            answer.set()
        recode(*given, "--recode-resume").assert_outcomes(passed=1)
    assert len(server.requests) == 6
    (record,) = results()
    assert [(turn["passed"], turn["steps"]) for turn in record["turns"]] == [(1, 2), (1, 2), (2, 2)]
    last = server.requests[-1].prompt
    assert all(f"An answer of some length, number {number}." in last for number in range(5))


def test_policies_share_the_first_turn_of_a_session(
    options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    with ChatServer(lambda request: say(f"An answer of some length, number {request.number}.")) as server:
        recode(*options(PLAYS, server, "--recode-feedback=L0", "--recode-feedback=L2")).assert_outcomes(passed=2)
    assert len(server.requests) == 2 + 4 + 4
    assert all("An answer of some length, number 0." in request.prompt for request in server.requests[1:])
    records = results()
    assert [record["outcome"] for record in records] == ["solved", "solved"]
    assert [bool(record["turns"][0]["shared"]) for record in records] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("way", [["-n2"], ["--recode-in-flight=4"]], ids=["workers", "in flight"])
def test_several_play_at_the_same_time(
    way: list[str], options: Callable[..., list[str]], make_task: MakeTask, recode: Run, results: Results
) -> None:
    for name in "bcd":
        make_task(name)
    with ChatServer(lambda request: say(f"An answer of some length, number {request.number}.")) as server:
        recode(*options(PLAYS, server), *way).assert_outcomes(passed=4)
    assert [len(record["turns"]) for record in results()] == [3] * 4
    assert len(server.requests) == 4 * 6


def test_a_cassette_replays_a_program(options: Callable[..., list[str]], recode: Run, results: Results) -> None:
    with ChatServer(lambda request: say(f"An answer of some length, number {request.number}.")) as server:
        given = options(PLAYS, server, "--recode-cassette=tape")
        recode(*given).assert_outcomes(passed=1)
        number = len(server.requests)
        again = [option for option in given if option != "--recode-out=out"]
        recode(*again, "--recode-out=second", "--recode-cassette-mode=replay").assert_outcomes(passed=1)
    assert len(server.requests) == number == 6
    [(outcome, turns, _)] = map(judged, results())
    [(outcome_again, turns_again, _)] = map(judged, results("second"))
    assert outcome == outcome_again == "solved"
    assert [passed for passed, *_ in turns] == [passed for passed, *_ in turns_again]


LIMITED = [fault(429, retry_after="0.2"), fault(429, retry_after="0.2")]


def test_a_rate_limit_is_waited_for_and_no_refusal_reaches_the_program(
    options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    """This program would end at the first refusal, and hand in without having asked."""
    answers = [*LIMITED, say("An answer of some length, after a while.")]
    with ChatServer(answers) as server:
        recode(*options(f"{BEGIN}ask()\nwrite({RIGHT!r})\n", server)).assert_outcomes(passed=1)
    assert len(server.requests) == 3
    (record,) = results()
    assert [turn["steps"] for turn in record["turns"]] == [1]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("answer", "kind", "more"),
    [
        pytest.param(
            fault(404, "The model does not exist", code="model_not_found"), "model:unknown-model", [], id="retired"
        ),
        pytest.param(fault(401, "wrong key", code="invalid_api_key"), "model:auth", [], id="no key"),
        pytest.param(silent(), "model:timeout", ["--recode-call-seconds=1"], id="hangs"),
        pytest.param(fault(400, "no such parameter"), "model:bad-request", [], id="refused"),
    ],
)
def test_a_provider_that_fails_is_the_models_error(
    answer: Answer, kind: str, more: list[str], options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    """Also where the program would have handed in the right code, with status 0."""
    with ChatServer(lambda _: answer) as server:
        result = recode(*options(SWALLOWS, server, *more))
        assert server.requests
    result.assert_outcomes(errors=1)
    (record,) = results()
    assert (record["outcome"], record["error"]["kind"]) == ("error", kind)
    assert "Traceback" not in words(result)


def test_a_connection_that_breaks_is_tried_again(
    options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    with ChatServer([dropped("middle"), say("An answer of some length.")]) as server:
        recode(*options(SWALLOWS, server)).assert_outcomes(passed=1)
    (record,) = results()
    assert record["usage"]["prompt_tokens"] == 11


def test_a_budget_that_is_spent_in_a_turn_ends_the_program(
    options: Callable[..., list[str]], recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    table = "local:\n  model: openai/local\n  price: {prompt: 1000, completion: 1000}\n  params: {max_tokens: 10}\n"
    (pytester.path / "models.yaml").write_text(table)
    with ChatServer(lambda request: say(f"An answer of some length, number {request.number}.")) as server:
        program = f"{BEGIN}ask()\ntry:\n    ask('more')\nexcept Exception:\n    pass\nwrite({RIGHT!r})\n"
        own = [option for option in options(program, server) if not option.startswith("--recode-model=")]
        budget = ("--recode-model=local", "--recode-models-file=models.yaml", "--recode-max-cost=0.001")
        result = recode(*own, *budget)
    (record,) = results()
    assert record["error"]["kind"] == "budget"
    assert "budget" in words(result)

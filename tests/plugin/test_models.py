"""Sessions that ask a real server, behind the real litellm: answers, costs, faults, budget."""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.models import catalog
from pytest_recode.records.transcript_turns import read_episode
from pytest_recode.render.episode_text import ShownParts, painted, shown
from pytest_recode.render.html.episode_view import episode_view
from pytest_recode.render.html.withheld import Without
from tests.chat_server import Answer, ChatServer, DeadServer, Request, fault, say, silent
from tests.messages import assert_line, assert_message

from .conftest import words
from .test_bad_input import one_line

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

RIGHT = "```python answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n```\n"
WRONG = "```python answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x\n```\n"
ONE_SHOT = ("--recode-agent=one-shot", "--recode-out=out")
TABLE = "cheap:\n  model: openai/cheap\n  price: {prompt: 1000, completion: 1000}\n"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def answers(request: Request) -> Answer:
    """Wrong until it was told so."""
    return say(RIGHT if "Feedback on turn" in request.prompt else WRONG)


@pytest.mark.slow
def test_a_real_conversation_is_solved_in_turn_two(
    make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    make_task("a")
    make_task("b")
    with ChatServer(answers) as server:
        result = recode(workers, *ONE_SHOT, "-v", "--recode-model=local", f"--recode-api-base={server.url}")
    result.assert_outcomes(passed=2)
    assert "SOLVED@2" in words(result)
    for record in results():
        assert [turn["passed"] for turn in record["turns"]] == [1, 2]
        assert record["usage"] == {"prompt_tokens": 22, "completion_tokens": 14, "cost_usd": None}
        assert not record["simulated"]
    assert "local escalate 2/2 100.0 34.2 to 100.0 2.0 100.0 72 ? 0" in words(result)
    assert_message(words(result), "cost ?", "the price of at least one call")


@pytest.mark.slow
def test_a_model_that_makes_nothing_of_it_is_unsolved_not_an_error(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task()
    nonsense = [say(""), say("I cannot help with that."), say("\udcff\x00 %%% {{{"), say("x" * 3_000_000)]
    with ChatServer(nonsense) as server:
        result = recode(*ONE_SHOT, "--recode-turns=4", "--recode-model=local", f"--recode-api-base={server.url}")
    result.assert_outcomes(failed=1)
    [record] = results()
    assert (record["outcome"], record["stop"], len(record["turns"])) == ("unsolved", "turns", 4)
    assert all(turn["passed"] == 0 for turn in record["turns"])
    lines = (pytester.path / "out" / record["transcript"]).read_text().splitlines()
    assert json.loads(lines[-1])["event"] == "end"


WRITES = f"{RIGHT}\nSUBMIT\n"


@pytest.mark.slow
def test_answers_that_cannot_be_parsed_are_counted_by_model(
    make_task: MakeTask,
    recode: Run,
    results: Results,
    workers: str,
    pytester: pytest.Pytester,
    quick_python: tuple[str, ...],
) -> None:
    make_task("a")
    make_task("b")

    def answer(request: Request) -> Answer:
        clumsy = "Step 1 of" in request.prompt.rpartition("# Current content")[2] and request.body["model"] == "clumsy"
        return say("```python\nx = 1\n```" if clumsy else WRITES)

    models = [f"--recode-model={name}" for name in ("clumsy", "neat")]
    with ChatServer(answer) as server:
        result = recode(workers, *models, "--recode-out=out", f"--recode-api-base={server.url}")
    result.assert_outcomes(passed=4)
    counts = {(record["model"], turn["steps"], turn["unparsed"]) for record in results() for turn in record["turns"]}
    assert counts == {("clumsy", 2, 4), ("neat", 1, 0)}
    assert_message(
        words(result),
        "answers that could not be used",
        "clumsy 8 of 10, neat 0 of 2",
        "asked again at no step: clumsy 6",
        "clumsy 2 (",
    )
    whole = [*quick_python, "-m", "pytest_recode.cli", "report", "out", "--format=json"]
    tables = json.loads(pytester.run(*whole).stdout.str())["tables"]
    [table] = [table for table in tables if table["name"] == "answers"]
    keys = ("model", "answers", "unparsed", "unparsed_percent", "asked_again", "steps_lost")
    assert [tuple(row[key] for key in keys) for row in table["rows"]] == [
        ("clumsy", 10, 8, 80.0, 6, 2),
        ("neat", 2, 0, 0.0, 0, 0),
    ]


@pytest.mark.slow
def test_an_answer_that_the_provider_ended_early_is_the_reason_in_terminal_show_and_page(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task("a")
    with ChatServer(lambda _: say("", finish="length")) as server:
        options = ("--recode-turns=1", "--recode-steps=1", "--recode-out=out")
        text = words(recode("--recode-model=m", f"--recode-api-base={server.url}", *options))
    reason = (
        "The model's limit of output was reached before your answer began: reasoning used all of it. Nothing was done."
    )
    assert f"the last answer was not used: {reason} Reason less before you answer. (a larger `max_tokens`" in text
    [path] = (pytester.path / "out/episodes").glob("*.jsonl")
    played = read_episode(path)
    assert f"the answer was not used; the model is told: {reason}" in painted(shown(played, ShownParts()), colour=False)
    steps = episode_view("key", "a", "unsolved", "m", played, Without()).turns[0].steps
    assert [step.actions for step in steps] == [*["not usable, asked again at no step"] * 3, "not usable, cost a step"]
    assert all(step.error.startswith(reason) for step in steps)


@pytest.mark.slow
def test_answers_of_a_turn_that_was_cut_off_are_counted_with_what_they_cost(
    make_task: MakeTask, recode: Run, results: Results
) -> None:
    """The first answer cannot be used and the second never comes; the run that resumes gets the first one again, and asks for the second."""
    make_task("a")

    resumed: list[bool] = []

    def answer(request: Request) -> Answer:
        if resumed:
            return say(WRITES)
        first = "Step 1 of" in request.prompt.rpartition("# Current content")[2]
        return say("So be it.") if first else fault(400, "no more")

    with ChatServer(answer) as server:
        options = ("--recode-model=m", "--recode-out=out", f"--recode-api-base={server.url}")
        output = words(recode(*options))
        [record] = results()
        assert (record["outcome"], record["turns"]) == ("error", [])
        assert record["abandoned"] == {"steps": 1, "unparsed": 4, "asked_again": 3}
        before, _, after = output.partition("answers that could not be used: m 4 of 4")
        assert "errors, each cause shown" in after  # which the reader understands better knowing it
        assert "errors, each cause shown" not in before
        resumed.append(True)
        asked = len(server.requests)
        output = words(recode(*options, "--recode-resume"))
        assert len(server.requests) == asked + 1
    [record] = results()
    assert (record["outcome"], record["turns"][0]["steps"]) == ("solved", 2)
    assert record["abandoned"] == {"steps": 0, "unparsed": 0, "asked_again": 0}
    assert "answers that could not be used: m 4 of 5" in output


@pytest.mark.slow
def test_a_bad_key_is_an_error_said_once(make_task: MakeTask, recode: Run, results: Results) -> None:
    for name in ("a", "b", "c"):
        make_task(name)
    with ChatServer(lambda _: fault(401, "Incorrect API key provided")) as server:
        result = recode(*ONE_SHOT, "--recode-model=local", f"--recode-api-base={server.url}")
        assert len(server.requests) == 1
    result.assert_outcomes(errors=3)
    assert [record["error"]["kind"] for record in results()] == ["model:auth"] * 3
    assert all(record["turns"] == [] for record in results())
    text = words(result)
    assert text.count("ERROR at call of") == 1
    line = f"Incorrect API key provided (asked at {server.url}, without a key: export OPENAI_API_KEY)"
    # pytest's short summary repeats it
    assert text.partition("short test summary")[0].count(f"model local: auth: {line}") == 1
    assert "errors, each cause shown once above: 3x the model's key was refused (model:auth)" in text


HASTY = """\
from pytest_recode.models import ModelKind, litellm_
from pytest_recode.models.retry import Retries


def make(context):
    made = litellm_.make(context)
    made.retries = Retries(base=0.001)
    return made


def pytest_recode_models():
    return {"*": ModelKind(make=make, check=litellm_.check)}
"""


@pytest.mark.slow
def test_an_address_that_nobody_answers_at_is_waited_for_once_and_that_is_said(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    """As ever, but for the seconds between the tries."""
    pytester.makeconftest(HASTY)
    for name in ("a", "b", "c"):
        make_task(name)
    with DeadServer() as dead:
        result = recode(workers, *ONE_SHOT, "--recode-model=local", f"--recode-api-base={dead.url}")
    result.assert_outcomes(errors=3)
    reason = f"{dead.url} cannot be reached (Connection refused): start the server there, or correct the address"
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in result.outlines]
    [warning] = [number for number, line in enumerate(lines) if line.startswith("recode: model local")]
    assert lines[warning] == f"recode: model local: {reason}; trying again for up to 5 s"
    assert warning < next(number for number, line in enumerate(lines) if " ERRORS " in line)
    # while it is waited for, and as what ended the first of them; pytest's short summary repeats it
    above = lines[: next(number for number, line in enumerate(lines) if "short test summary" in line)]
    assert sum(reason in line for line in above) == 2
    assert "errors, each cause shown once above: 3x the model could not be reached (model:connection)" in words(result)
    errors = [record["error"] for record in results()]
    assert {error["kind"] for error in errors} == {"model:connection"}
    waited = [error["message"] for error in errors if "(gave up after 6 tries in " in error["message"]]
    others = [error["message"] for error in errors if error["message"] not in waited]
    assert len(waited) in ({1} if workers == "-n0" else {1, 2})  # two workers may wait at the same time
    assert set(others) == {
        f"model local: connection: {reason} (not retried, because this run gave up on this server before)"
    }


@pytest.mark.slow
def test_a_server_that_hangs_is_told_of_while_it_is_waited_for(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    pytester.makeconftest(HASTY)
    for name in ("a", "b", "c"):
        make_task(name)
    with ChatServer(lambda _: silent()) as server:
        given = ("--recode-model=local", f"--recode-api-base={server.url}", "--recode-call-seconds=3")
        result = recode(workers, *ONE_SHOT, *given)
        asked = len(server.requests)
    result.assert_outcomes(errors=3)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in result.outlines]
    warnings = [number for number, line in enumerate(lines) if line.startswith("recode: model local")]
    assert len(warnings) in ({1} if workers == "-n0" else {1, 2}), "two workers may wait at the same time"
    assert 1 <= asked <= 3 + len(warnings), "on a busy machine a call may have no time to reach the server"
    hangs = "model local: no complete answer within 3 s"
    assert {lines[number] for number in warnings} == {
        f"recode: {hangs}; trying once more, for up to 3 s (--recode-call-seconds)"
    }
    assert max(warnings) < next(number for number, line in enumerate(lines) if " ERRORS " in line)
    text = words(result)
    assert "errors, each cause shown once above: 3x the model did not answer in time (model:timeout)" in text
    assert re.search(r" 3 episodes of [abc], [abc], [abc]: model local: timeout: no complete answer within 3 s", text)
    messages = [record["error"]["message"] for record in results()]
    assert sum("(gave up after 2 tries in " in message for message in messages) == len(warnings)


LATE = """

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": RIGHT}
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def pytest_recode_episode_finished(record):
    if record["task"] == "a":
        server = ThreadingHTTPServer(("127.0.0.1", PORT), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
"""


@pytest.mark.slow
def test_a_server_that_is_started_late_is_found(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """The address is lost in the first episode; the second, before which the server starts, is played as any other."""
    for name in ("a", "b"):
        make_task(name)
    with DeadServer() as dead:
        pytester.makeconftest(f"{HASTY}{LATE}\nPORT, RIGHT = {dead.port}, {RIGHT!r}\n")
        recode(*ONE_SHOT, "--recode-model=local", f"--recode-api-base={dead.url}").assert_outcomes(errors=1, passed=1)
    assert [record["outcome"] for record in results()] == ["error", "solved"]
    lines = map(json.loads, (pytester.path / "out/spending.jsonl").read_text().splitlines())
    assert [line["reach"] for line in lines if "reach" in line] == ["waiting", "lost", "answers"]


@pytest.mark.slow
def test_a_budget_holds_for_all_workers(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    for name in ("a", "b", "c", "d"):
        make_task(name)
    pytester.path.joinpath("models.yaml").write_text(TABLE)
    usage = {"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000}
    with ChatServer(lambda _: say(WRONG, usage=usage)) as server:
        result = recode(
            workers, *ONE_SHOT, "--recode-model=cheap", f"--recode-api-base={server.url}",
            "--recode-models-file=models.yaml", "--recode-max-cost=0.000001", "--recode-turns=3",
        )  # fmt: skip
        asked = len(server.requests)
    found = results()
    assert {record["stop"] for record in found} == {"budget"}
    assert {record["outcome"] for record in found} == {"error"}
    lines = [json.loads(line) for line in (pytester.path / "out/spending.jsonl").read_text().splitlines()]
    assert asked == len(lines) == 1  # it reserved what was left, so that no other worker's call started
    result.assert_outcomes(errors=4)
    assert "budget of 1e-06 USD is spent" in words(result)
    assert_line("\n".join(result.outlines), "budget: spent after 0 episodes", "4 episodes", "an unknown amount")


@pytest.mark.slow
def test_a_model_has_a_budget_of_its_own(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    for name in ("a", "b", "c"):
        make_task(name)
    pytester.path.joinpath("models.yaml").write_text(TABLE + TABLE.replace("cheap", "other"))
    with ChatServer(lambda _: say(RIGHT)) as server:
        result = recode(
            workers, *ONE_SHOT, "--recode-model=cheap", "--recode-model=other", f"--recode-api-base={server.url}",
            "--recode-models-file=models.yaml", "--recode-max-cost=1", "--recode-max-cost=other=0.03",
        )  # fmt: skip
    stops = Counter((record["model"], record["stop"]) for record in results())
    assert stops == {("cheap", "solved"): 3, ("other", "solved"): 2, ("other", "budget"): 1}  # 0.018 dollars each
    spent = "budget of 0.03 USD for other is spent (0.036 USD so far; "
    assert spent in words(result)
    assert_line("\n".join(result.outlines), spent, "of 1.00 USD for all models", "--recode-resume", "--recode-max-cost")
    assert_line("\n".join(result.outlines), "budget: spent after", "1 episode", "about 0.02 USD more")


@pytest.mark.slow
def test_feedback_by_a_model(make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester) -> None:
    make_task()
    written = {
        "feedbacks": [
            {
                "interface": "answer.half",
                "category": "T2",
                "description": "half does not halve",
                "analysis": "it gives its argument back",
                "suggestion": "divide by two",
                "caused_by": "",
            }
        ]
    }

    def script(request: Request) -> Answer:
        if request.body["model"] == "researcher":
            return say(json.dumps(written))
        return answers(request)

    with ChatServer(script) as server:
        recode(
            *ONE_SHOT, "--recode-model=openai/solver", "--recode-feedback-model=openai/researcher",
            f"--recode-api-base={server.url}", "--recode-feedback=L2",
        ).assert_outcomes(passed=1)  # fmt: skip
        shown = [request for request in server.requests if request.body["model"] == "solver"][1].prompt
    assert "it gives its argument back" in shown
    assert "divide by two" not in shown
    [record] = results()
    assert record["usage"]["prompt_tokens"] == 33
    transcript = (pytester.path / "out" / record["transcript"]).read_text()
    assert '"source": "model"' in transcript


UNKNOWN = [
    ("--recode-model=zzz", "unknown model 'zzz'", "--recode-api-base"),
    ("--recode-model=claude-sonnet-4", "model claude-sonnet-4 was retired on 2026-06-15", "pytest-recode report"),
    ("--recode-model=gtp-6-sol", "unknown model 'gtp-6-sol' (did you mean ", "gpt-6-sol"),
    ("--recode-model=claude-opus-5.5", "ANTHROPIC_API_KEY", "sim/graduate"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("option", "thing", "way_on"), UNKNOWN)
def test_unknown_and_retired_models_and_missing_keys_are_one_line(
    make_task: MakeTask, recode: Run, option: str, thing: str, way_on: str
) -> None:
    make_task()
    result = recode("-n2", option, fresh="_API_KEY" not in thing)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in (*result.errlines, *result.outlines) if line.startswith("ERROR: ")]
    assert thing in line
    assert way_on in line
    assert "Traceback" not in words(result)
    assert "workers" not in words(result)  # refused before they start


needs_docker = pytest.mark.skipif(
    "not os.environ.get('RECODE_TEST_IMAGE') and 'CI' not in os.environ", reason="needs Docker"
)


@pytest.mark.slow
@needs_docker
def test_a_missing_image_is_one_line_before_anything_is_spent(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    with ChatServer(answers) as server:
        result = recode(
            workers, *ONE_SHOT, "--recode-model=local", f"--recode-api-base={server.url}", "--recode-sandbox=docker",
            "--recode-image=localhost:1/no-such-image",
        )  # fmt: skip
        assert server.requests == []
    message = "recode: docker: pulling the image localhost:1/no-such-image, which may take minutes"
    assert words(result).count(message) == 1
    line = one_line(result)
    assert_message(line, "--recode-image=localhost:1/no-such-image", "not be pulled", "build it", "name another")
    assert not list(pytester.path.glob("out/*"))


@pytest.mark.slow
@needs_docker
def test_a_model_is_judged_with_the_interpreter_that_was_named(
    make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    """And not by docker, which would leave it aside without a word."""
    make_task()
    with ChatServer(answers) as server:
        recode(
            workers, *ONE_SHOT, "--recode-model=local", f"--recode-api-base={server.url}", "--recode-sandbox=auto",
            f"--recode-python={sys.executable}",
        )  # fmt: skip
    assert [record["sandbox"] for record in results()] == ["bubblewrap"]


@pytest.mark.slow
@needs_docker
def test_a_missing_image_of_a_task_is_that_tasks_error(
    make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    """The run's own image plays no part where every task has its own: it need not be there."""
    make_task(manifest="environment: {image: 'localhost:1/of-the-task'}\n")
    args = ("--recode-agent=reference", "--recode-sandbox=docker", "--recode-image=localhost:1/no-such-image")
    result = recode(workers, *args, "--recode-out=out")
    result.assert_outcomes(errors=1)
    [record] = results()
    assert record["error"]["kind"] == "user"
    subject = "environment.image: localhost:1/of-the-task"
    assert_message(record["error"]["message"], subject, "not be pulled", "build it", "correct the name of the image")
    assert "Traceback" not in words(result)


@pytest.mark.slow
def test_a_model_that_is_retired_soon_is_announced_once_before_the_run(
    make_task: MakeTask, recode: Run, workers: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """litellm's file has a date for it; how soon is soon depends on the day on which this test runs."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    dated = next(
        one
        for one in catalog.listings().values()
        if (one.provider, one.mode) == ("openai", "chat") and ":" not in one.name and one.retired and one.live(today)
    )
    pytester.makeconftest(
        "import datetime\nfrom pytest_recode.models import retirement\nretirement.NOTICE = datetime.timedelta(days=9999)\n"
    )
    make_task()
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with DeadServer() as proxy:  # so that nothing leaves this machine
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        result = recode(workers, *ONE_SHOT, f"--recode-model={dated.name}")
    result.assert_outcomes(errors=1)
    text = result.stdout.str()
    announced = f"model {dated.name} will be retired on {dated.retired}"
    assert_line(text, announced, "use")
    assert text.count(announced) == 1

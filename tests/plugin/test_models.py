"""Sessions that ask a real server, behind the real litellm: answers, costs, faults, budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, Request, fault, say

from .conftest import words

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
    assert "cost ?: the price of at least one call is not known" in words(result)


def test_a_model_that_makes_nothing_of_it_is_unsolved_not_an_error(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task()
    nonsense = [say(""), say("I cannot help with that."), say("\udcff\x00 %%% {{{"), say("x" * 10_000_000)]
    with ChatServer(nonsense) as server:
        result = recode(*ONE_SHOT, "--recode-turns=4", "--recode-model=local", f"--recode-api-base={server.url}")
    result.assert_outcomes(failed=1)
    [record] = results()
    assert (record["outcome"], record["stop"], len(record["turns"])) == ("unsolved", "turns", 4)
    assert all(turn["passed"] == 0 for turn in record["turns"])
    lines = (pytester.path / "out" / record["transcript"]).read_text().splitlines()
    assert json.loads(lines[-1])["event"] == "end"


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
    assert "Incorrect API key provided" in text
    assert "error model:auth (3x): " in text


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
    # one call passes the limit; another worker's may have been under way
    assert asked == len(lines) <= (2 if workers == "-n2" else 1)
    result.assert_outcomes(errors=4)
    assert "budget of 1e-06 USD is spent" in words(result)


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
                "correction": "def half(x):\n    return x / 2",
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
        told = [request for request in server.requests if request.body["model"] == "solver"][1].prompt
    assert "it gives its argument back" in told
    assert "divide by two" not in told
    [record] = results()
    assert record["usage"]["prompt_tokens"] == 33
    transcript = (pytester.path / "out" / record["transcript"]).read_text()
    assert '"source": "model"' in transcript


UNKNOWN = [
    ("--recode-model=gpt-9000", "gpt-9000", "--recode-api-base"),
    ("--recode-model=claude-sonnet-4", "ANTHROPIC_API_KEY", "sim/graduate"),
    ("--recode-model=gpt-5", "OPENAI_API_KEY", "sim/graduate"),
]


@pytest.mark.parametrize(("option", "thing", "way_on"), UNKNOWN)
def test_unknown_models_and_missing_keys_are_one_line(
    make_task: MakeTask, recode: Run, option: str, thing: str, way_on: str
) -> None:
    make_task()
    result = recode("-n2", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in (*result.errlines, *result.outlines) if line.startswith("ERROR: ")]
    assert thing in line
    assert way_on in line
    assert "Traceback" not in words(result)


@pytest.mark.skipif("not os.environ.get('RECODE_TEST_IMAGE') and 'CI' not in os.environ", reason="needs Docker")
def test_a_missing_image_is_found_out_before_a_model_is_asked(
    make_task: MakeTask, recode: Run, results: Results
) -> None:
    make_task()
    with ChatServer(answers) as server:
        result = recode(
            *ONE_SHOT, "--recode-model=local", f"--recode-api-base={server.url}", "--recode-sandbox=docker",
            "--recode-image=localhost:1/no-such-image",
        )  # fmt: skip
        assert server.requests == []
    [record] = results()
    assert record["error"]["kind"] == "user"
    assert record["error"]["message"].startswith(
        "image localhost:1/no-such-image is not here and could not be pulled ("
    )
    assert record["error"]["message"].endswith("; build it, or pull it where there is a network")
    assert "Traceback" not in words(result)

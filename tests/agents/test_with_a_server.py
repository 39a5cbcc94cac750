"""The agents behind litellm, against a real server that speaks chat completions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_recode.agents import AgentKind, one_shot, recode, recode_h
from pytest_recode.episode import Feedback
from pytest_recode.faults import ModelError
from pytest_recode.models import ModelContext
from pytest_recode.models.litellm_ import LitellmModel, make
from pytest_recode.records.null_ledger import NullLedger
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, Logged, a_brief, a_context
from tests.chat_server import Answer, ChatServer, Request, Script, call, chat_server, fault, say

__all__ = ["chat_server"]

RIGHT = "def solve(x):\n    return 2 * x\n"
WRITE = f"```python solver.py\n{RIGHT}```\n"
TEXT = f"### Planning\nWrite it.\n\n{WRITE}\nSUBMIT"
Serve = Callable[[Script], ChatServer]


def model(server: ChatServer, *, tools: bool) -> LitellmModel:
    table = {"local": {"model": "openai/local", "tools": tools}}
    return make(ModelContext(name="local", ledger=NullLedger(), api_base=server.url, call_seconds=30.0, table=table))


@pytest.mark.parametrize(
    ("kind", "answer"),
    [(recode.KIND, TEXT), (one_shot.KIND, f"Here it is:\n```python solver.py\n{RIGHT}```")],
    ids=["recode", "one-shot"],
)
def test_a_text_becomes_a_target(chat_server: Serve, open_walled: Open, kind: AgentKind, answer: str) -> None:
    server, workspace = chat_server([say(answer)]), open_walled()
    move = kind.make(a_context(model(server, tools=False))).act(a_brief(), None, workspace)
    assert (move.steps, move.submitted, move.usage.prompt_tokens) == (1, True, 11)
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    assert "tools" not in server.requests[0].body
    assert "The paper says: solve(x) is 2 x." in server.requests[0].prompt


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (recode.KIND, TEXT),
        (one_shot.KIND, f"```python solver.py\n{RIGHT}```"),
        (recode_h.KIND, f"action:\nREPLACE\n{RIGHT}"),
    ],
    ids=["recode", "one-shot", "recode-h"],
)
def test_thoughts_are_recorded_and_not_acted_on(
    chat_server: Serve, open_walled: Open, kind: AgentKind, answer: str
) -> None:
    thought = "First a draft:\n```submit\n```\nNo."
    server, workspace, log = chat_server([say(f"<think>{thought}</think>\n{answer}")] * 4), open_walled(), Logged()
    kind.make(a_context(model(server, tools=False), steps=1, log=log)).act(a_brief(), None, workspace)
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    assert log.of("step")[0]["thoughts"].strip() == thought


@pytest.mark.parametrize(
    ("kind", "answer"),
    [(recode.KIND, TEXT), (one_shot.KIND, f"```python solver.py\n{RIGHT}```")],
    ids=["recode", "one-shot"],
)
def test_thoughts_whose_opening_tag_is_in_the_prompt_are_not_acted_on(
    chat_server: Serve, open_walled: Open, kind: AgentKind, answer: str
) -> None:
    thought = "Maybe:\n```bash\ntouch lib/thought\n```\n```python solver.py\nx = 0\n```\nNo."
    server, workspace = chat_server([say(f"{thought}\n</think>\n\n{answer}")]), open_walled()
    kind.make(a_context(model(server, tools=False))).act(a_brief(), None, workspace)
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    assert "lib/thought" not in workspace.list()


def test_changes_in_other_forms_neither_end_the_turn_nor_cost_a_step(chat_server: Serve, open_walled: Open) -> None:
    change = "<<<<<<< SEARCH\n    raise NotImplementedError\n=======\n    return 2 * x\n>>>>>>> REPLACE\n"
    answers = [
        "```diff solver.py\n-    raise NotImplementedError\n+    return 2 * x\n```\n\nSUBMIT",
        f"solver.py\n```python\n{change}```\n\nSUBMIT",
        "```search solver.py\nsolve\n```",
        f"It is:\n```python\nreturn x\n```\n```python solver.py\n{change}```\n\nSUBMIT",
    ]
    server, workspace = chat_server([say(each) for each in answers]), open_walled()
    move = recode.KIND.make(a_context(model(server, tools=False), steps=2)).act(a_brief(), None, workspace)
    assert (move.steps, move.submitted, move.unparsed, move.asked_again) == (1, True, 3, 3)
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    diff, above, words = (request.prompt.rpartition("This answer cost no step")[2] for request in server.requests[1:])
    assert "A diff is not applied: write the change as lines between `<<<<<<< SEARCH`" in diff
    assert "If it was meant as a change, open it with the file's path" in above
    assert "a `search` block has nothing behind `search`" in words


EARLY = {
    "content filter": (say(TEXT, finish="content_filter"), "The provider's content filter ended your answer."),
    "cut off": (say(TEXT, finish="length"), "Your answer was cut off at the model's limit of output."),
    "hidden reasoning": (say(None, finish="length"), "reached before your answer began: reasoning used all of it."),
    "reasoning": (say(f"<think>{TEXT}", finish="length"), "before your answer began: reasoning used all of it."),
    "calls cut off": (
        replace(call("submit", {}), finish="length"),
        "Your answer was cut off at the model's limit of output.",
    ),
}


@pytest.mark.parametrize(("answer", "words"), EARLY.values(), ids=EARLY)
@pytest.mark.parametrize("kind", [recode.KIND, one_shot.KIND, recode_h.KIND], ids=["recode", "one-shot", "recode-h"])
def test_an_answer_that_the_provider_ended_early_is_told_as_what_it_is(
    chat_server: Serve, open_walled: Open, kind: AgentKind, answer: Answer, words: str
) -> None:
    """To the model and in the transcript; nothing of it is used."""
    answers = 4 if kind is recode.KIND else 1  # of a turn: recode asks again
    server, workspace, log = chat_server([answer] * 2 * answers), open_walled(), Logged()
    agent = kind.make(a_context(model(server, tools=bool(answer.tool_calls)), steps=1, log=log))
    move = agent.act(a_brief(), None, workspace)
    assert (move.submitted, move.unparsed, move.asked_again) == (False, answers, answers - 1)
    assert workspace.targets() == {"solver.py": REPO["solver.py"]}
    agent.act(a_brief(), Feedback(level=0, text="No.", turn=1), workspace)
    assert words in server.requests[1].prompt
    step = log.of("step")[0]
    assert step["finish"] == answer.finish
    assert words in (step.get("error") or " ".join(step["problems"]))


STEPS = (("read", {"path": "solver.py"}), ("write", {"path": "solver.py", "text": RIGHT}), ("submit", {}))


def deepseek(request: Request) -> Answer:
    """Refuses a conversation whose tool calls lack the thoughts before them."""
    before = [each for each in request.body["messages"] if each["role"] == "assistant"]
    if [each.get("reasoning_content") for each in before] != [f"thought {at}" for at in range(len(before))]:
        return fault(400, "the reasoning_content in thinking mode must be passed back to the API")
    name, arguments = STEPS[len(before)]
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {"role": "assistant", "content": None, "reasoning_content": f"thought {len(before)}"}
    message["tool_calls"] = [{"id": f"t{len(before)}", "type": "function", "function": function}]
    return Answer(
        raw=json.dumps({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}).encode()
    )


def anthropic(request: Request) -> Answer:
    """Refuses a conversation whose tool calls lack the signed thinking before them."""
    before = [each["content"] for each in request.body["messages"] if each["role"] == "assistant"]
    signed = [[each.get("signature") for each in content if each["type"] == "thinking"] for content in before]
    if signed != [[f"signature {at}"] for at in range(len(before))]:
        return fault(400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`")
    name, arguments = STEPS[len(before)]
    thinking = {"type": "thinking", "thinking": "hm", "signature": f"signature {len(before)}"}
    content = [thinking, {"type": "tool_use", "id": f"t{len(before)}", "name": name, "input": arguments}]
    usage = {"input_tokens": 11, "output_tokens": 7}
    reply = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
    return Answer(raw=json.dumps({**reply, "stop_reason": "tool_use", "stop_sequence": None}).encode())


@pytest.mark.parametrize(
    ("name", "insists", "params"),
    [
        ("deepseek/deepseek-reasoner", deepseek, {}),
        (
            "anthropic/claude-sonnet-4-5-20250929",
            anthropic,
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 8000},
        ),
    ],
    ids=["deepseek", "anthropic"],
)
def test_three_steps_with_a_server_that_insists_on_its_thinking(
    chat_server: Serve, open_walled: Open, name: str, insists: Callable[[Request], Answer], params: dict[str, object]
) -> None:
    server, workspace = chat_server(insists), open_walled()
    table = {"thinker": {"model": name, "tools": True, "params": params, "price": {"prompt": 0, "completion": 0}}}
    base = server.url.removesuffix("/v1")
    thinker = make(ModelContext(name="thinker", ledger=NullLedger(), api_base=base, call_seconds=30.0, table=table))
    move = recode.KIND.make(a_context(thinker, steps=4)).act(a_brief(), None, workspace)
    assert (move.steps, move.submitted, move.unparsed) == (3, True, 0)
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    assert len(server.requests) == 3


def test_recode_h_asks_for_one_command_at_a_time(chat_server: Serve, open_walled: Open) -> None:
    answers = [say(f"reflect: Easy.\naction:\nREPLACE\n{RIGHT}"), say("reflect: Done.\naction:\nSUBMIT")]
    server, workspace = chat_server(answers), open_walled()
    move = recode_h.KIND.make(a_context(model(server, tools=True))).act(a_brief(), None, workspace)
    assert (move.steps, move.submitted, move.usage.prompt_tokens) == (2, True, 22)
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    assert [[each["role"] for each in request.body["messages"]] for request in server.requests] == [
        ["system", "user"]
    ] * 2
    assert not any("tools" in request.body for request in server.requests)
    assert "Result of REPLACE solver.py:\nsolver.py was written." in server.requests[1].prompt


def test_native_tools_there_and_back(chat_server: Serve, open_walled: Open) -> None:
    writes = call("write", {"path": "solver.py", "text": RIGHT, "observation": "A stub."})
    server, workspace, log = chat_server([call("read", "{oops"), writes, call("submit", {})]), open_walled(), Logged()
    agent = recode.KIND.make(a_context(model(server, tools=True), log=log))
    move = agent.act(a_brief(), None, workspace)
    assert (move.steps, move.submitted, move.usage.completion_tokens) == (2, True, 21)
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    assert [tool["function"]["name"] for tool in server.requests[0].body["tools"]][-1] == "submit"
    sent = server.requests[2].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", *["assistant", "tool"] * 2, "user"]
    assert sent[3]["content"].startswith(
        "This answer cost no step; up to 2 more in a row would cost none either. The arguments of `read` are no"
    )
    assert json.loads(sent[4]["tool_calls"][0]["function"]["arguments"])["text"] == RIGHT
    wrote = "Result of write solver.py:\nWrote solver.py (2 lines)."
    assert sent[5] == {"role": "tool", "content": wrote, "tool_call_id": "turn1answer2call0"}
    assert log.of("step")[1]["observation"] == "A stub."


@pytest.mark.parametrize("kind", [recode.KIND, one_shot.KIND], ids=["recode", "one-shot"])
def test_odd_answers_are_answers(chat_server: Serve, open_walled: Open, kind: AgentKind) -> None:
    odd = [say(None), say(None, refusal="I won't."), say("caf\x00"), say("y" * 10_000_000)]
    server, workspace = chat_server(odd), open_walled()
    agent = kind.make(a_context(model(server, tools=False), steps=1))
    for _ in range(1 if kind is recode.KIND else 4):
        agent.act(a_brief(), None, workspace)
    assert len(server.requests) == 4
    assert workspace.targets() == {"solver.py": REPO["solver.py"]}


def test_a_server_that_refuses_is_no_answer(chat_server: Serve, open_walled: Open) -> None:
    server, workspace = chat_server([fault(401, "bad key")]), open_walled()
    agent = recode.KIND.make(a_context(model(server, tools=False)))
    with pytest.raises(ModelError):
        agent.act(a_brief(), None, workspace)
    assert workspace._connection is None

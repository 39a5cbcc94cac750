"""Agents whose prompts do not fit into a model's context window, behind litellm and a server that refuses them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_recode.agents import AgentKind, one_shot, recode, recode_h
from pytest_recode.episode import Feedback
from pytest_recode.faults import ModelError, ModelFault
from tests.agents.conftest import Open
from tests.agents.scripted import Logged, a_brief, a_context
from tests.chat_server import ChatServer, Request, Script, chat_server, windowed

from .test_with_a_server import model

__all__ = ["chat_server"]

Serve = Callable[[Script], ChatServer]
KINDS = {"recode": recode.KIND, "one-shot": one_shot.KIND, "recode-h": recode_h.KIND}
RAMBLES = "I wonder what solve(x) may mean in the paper, and what it may not. " * 150
READS = "```bash\ncat README.md\n```\n"
SUMMARY = "SUMMARY: nothing was written."


def rambling(request: Request) -> str:
    return SUMMARY if "You keep the notes" in request.prompt else f"{RAMBLES}\n{READS}"


def feedback(turn: int) -> Feedback | None:
    return Feedback(level=1, text="solver.solve fails.", turn=turn) if turn else None


def played(
    kind: AgentKind, server: ChatServer, workspace: Any, turns: int = 3
) -> tuple[list[tuple[int, bool]], Logged]:
    log = Logged()
    agent = kind.make(a_context(model(server, tools=False), steps=4, turns=turns, log=log))
    moves = [agent.act(a_brief(), feedback(turn), workspace) for turn in range(turns)]
    return [(move.steps, move.submitted) for move in moves], log


@pytest.mark.slow
@pytest.mark.parametrize("says", ["", "context_length_exceeded: use a shorter prompt, says this context window"])
@pytest.mark.parametrize("name", KINDS)
def test_a_model_that_rambles_out_of_its_window_plays_on(
    chat_server: Serve, open_walled: Open, name: str, says: str
) -> None:
    server = chat_server(windowed(5_500, rambling, says=says))
    moves, log = played(KINDS[name], server, open_walled())
    assert moves == [(1 if name == "one-shot" else 4, False)] * 3
    if name != "one-shot":
        assert {memory["summary"] for memory in log.of("memory")} == {SUMMARY}
    assert [step["error"] for step in log.of("step") if "No answer" in step.get("error", "")] == []


@pytest.mark.slow
def test_a_window_that_a_refusal_has_stated_is_kept_to(chat_server: Serve, open_walled: Open) -> None:
    script, sizes = windowed(5_500, rambling), list[int]()

    def watched(request: Request) -> Any:
        sizes.append(len(request.prompt) // 4)
        return script(request)

    played(recode.KIND, chat_server(watched), open_walled())
    assert [size > 5_500 for size in sizes].count(True) == 1


@pytest.mark.parametrize("name", KINDS)
def test_a_task_that_does_not_fit_is_an_error(chat_server: Serve, open_walled: Open, name: str) -> None:
    server = chat_server(windowed(300, rambling))
    with pytest.raises(ModelError) as caught:
        played(KINDS[name], server, open_walled())
    assert (caught.value.fault, caught.value.window) == (ModelFault.CONTEXT, 300)
    assert len(server.requests) == 1


HUGE = "x = 1\n" * 4_000
WRITES = {
    "recode": f"```python solver.py\n{HUGE}```",
    "one-shot": f"```python solver.py\n{HUGE}```",
    "recode-h": f"reflect: Long.\naction:\nREPLACE\n{HUGE}",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_turn_ends_when_what_the_model_wrote_fills_the_window(
    chat_server: Serve, open_walled: Open, name: str
) -> None:
    server, workspace = chat_server(windowed(3_000, lambda _: WRITES[name])), open_walled()
    moves, log = played(KINDS[name], server, workspace)
    assert moves == {"one-shot": [(1, True), (1, False), (1, False)]}.get(name, [(2, False), (1, False), (1, False)])
    assert workspace.targets()["solver.py"].decode() == HUGE
    last = log.of("step")[-1]
    [problem] = last["problems"] if name == "one-shot" else [last["error"]]
    assert problem.startswith(
        "No answer: even without what was done before, the prompt does not fit into the model's context"
    )
    assert "of some 3,000 tokens" in problem
    assert last["usage"]["prompt_tokens"] == 0


def test_what_refusals_have_shown_outlasts_a_resumed_run(chat_server: Serve, open_walled: Open) -> None:
    server = chat_server(windowed(5_500, rambling))
    agent: Any = recode.KIND.make(a_context(model(server, tools=False), steps=4))
    agent.act(a_brief(), None, open_walled())
    again: Any = recode.KIND.make(a_context(model(server, tools=False), steps=4))
    state = json.loads(json.dumps(agent.state()))
    again.restore(state)
    assert again.window == agent.window == 5_500
    old = {name: value for name, value in state.items() if name != "window"}
    again.restore(old)  # of an earlier release
    assert again.window is None

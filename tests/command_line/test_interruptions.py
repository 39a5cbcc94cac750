"""A program that hides what its provider did to it: its episode is an error of the model all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, fault, silent
from tests.plugin.conftest import words

from .played_script import BEGIN
from .scripted import RIGHT

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
HIDES = f"{BEGIN}write({RIGHT!r})\ntry:\n    ask()\nexcept BaseException:\n    pass\nsys.exit(0)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "options", "kind"),
    [
        pytest.param(
            fault(404, "no such model", code="model_not_found"), [], "model:unknown-model", id="unknown model"
        ),
        pytest.param(silent(), ["--recode-call-seconds=2"], "model:timeout", id="hangs"),
    ],
)
def test_a_call_that_fails_for_good_is_the_models_error_though_the_program_ends_well(
    answer: Answer,
    options: list[str],
    kind: str,
    make_task: MakeTask,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    """The file that it left is the right one: it must not count."""
    make_task("a")
    program = pytester.path / "agent.py"
    program.write_text(HIDES)
    program.chmod(0o755)
    with ChatServer(lambda _: answer) as server:
        given = ("--recode-agent=claude-code", "--recode-model=openai/local", f"--recode-api-base={server.url}")
        path = f"--recode-agent-path=claude-code={program}"
        result = recode(*given, path, "--recode-out=out", "--recode-turns=1", *options, sandbox="bubblewrap")
        assert server.requests
    (record,) = results()
    assert record["outcome"] == "error"
    assert record["error"]["kind"] == kind
    assert "Traceback" not in words(result)

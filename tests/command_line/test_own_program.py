"""A program of the user's plays: the script of the page about it, and programs that cannot."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, Request, say

from .scripted import DONE, RIGHT, WRONG, turn_of, wrote

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

MODEL = "--recode-model=openai/local"
PAGE = Path(__file__).parents[2] / "docs/how-to/bring-your-own-agent.md"


def by_block(request: Request) -> Answer:
    """A command in a block, then the end of the turn; the third turn's command writes the right code."""
    turn = turn_of(request)
    if request.body["messages"][-1]["content"].startswith("exit status 0"):
        return say(f"{DONE} ({turn})")
    return say(f"I write it.\n\n```sh\n{wrote(RIGHT if turn == 3 else WRONG)}\n```")


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def on_the_page() -> str:
    found = re.search(r"```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_script_of_the_page_is_solved_in_its_third_turn(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task("a")
    executable(pytester.path / "agent.py", on_the_page())
    with ChatServer(by_block) as server:
        agent = ("--recode-agent=command:./agent.py", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode(*agent, sandbox="bubblewrap")
    result.assert_outcomes(passed=1)
    (record,) = results()
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert [turn["steps"] for turn in record["turns"]] == [2, 2, 2]
    assert (record["agent"], record["agent_version"]) == ("command:./agent.py", "")
    assert server.requests[-1].prompt.count(DONE) == 2


ENVIRONMENT = """#!/bin/sh
cat > /dev/null
echo "$RECODE_TURN $RECODE_MODEL $(ls "$RECODE_STATE" | wc -l) $(ls "$(dirname "$0")")"
echo "$OPENAI_BASE_URL $OPENAI_API_KEY"
echo "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY $ANTHROPIC_AUTH_TOKEN"
echo "$GOOGLE_GEMINI_BASE_URL $GEMINI_API_KEY"
exit 7
"""


def test_a_program_sees_its_own_file_alone_and_the_addresses_of_its_model(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task("a")
    script = executable(pytester.path / "home" / "agent.sh", ENVIRONMENT)
    (script.parent / "secret.txt").write_text("of the user")
    with ChatServer(()) as server:
        agent = (f"--recode-agent=command:{script}", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode(*agent, sandbox="bubblewrap")
    result.assert_outcomes(errors=1)
    (record,) = results()
    assert record["error"]["kind"] == "agent:no-model-call"
    output = "".join(path.read_text() for path in (pytester.path / "out").rglob("*.jsonl"))
    found = re.search(r"1 model 0 agent\.sh\\n(http://127\.0\.0\.1:\d+)/v1 (\S+)\\n", output)
    assert found is not None, output
    url, key = found.groups()
    assert f"{url} {key} {key}\\n{url} {key}\\n" in output


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            "command:",
            "--recode-agent=command: names no program: write its path behind the colon, as in command:./agent.py",
        ),
        ("command:gone.sh", "command:gone.sh: *gone.sh is no executable file: give the path of its program"),
        ("command:plain.sh", "command:plain.sh: *plain.sh is no executable file: *chmod +x"),
    ],
)
def test_a_program_that_is_none_is_one_line_before_anything_is_spent(
    spec: str, says: str, make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task("a")
    (pytester.path / "plain.sh").write_text("#!/bin/sh\n")
    with ChatServer(()) as server:
        agent = (f"--recode-agent={spec}", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode(*agent, sandbox="bubblewrap")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{says}*"])
    assert server.requests == []

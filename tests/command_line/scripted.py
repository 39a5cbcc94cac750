"""A scripted model that plays through any command-line agent's own tools: it runs shell commands, and ends its turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.chat_server import Answer, Request, call, say
from tests.plugin.conftest import FILES

WRONG = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x\n"
DELIVERED = FILES["repo/answer.py"]
RIGHT = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n"
DONE = "The file answer.py is written, and my turn ends here."

SHELLS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "Bash": lambda command: {"command": command, "description": "writes the answer"},
    "bash": lambda command: {"command": command, "description": "writes the answer"},
    "exec_command": lambda command: {"cmd": command},
    "run_shell_command": lambda command: {"command": command, "is_background": False},
}
"""The shell tools of the agents: their names, and how they take a command."""


def wrote(text: str, path: str = "answer.py") -> str:
    """A shell command that writes a file."""
    return f"cat > {path} <<'END'\n{text}END"


def turn_of(request: Request) -> int:
    """The turn that a request belongs to: the feedback that it has, and one."""
    texts = [json.dumps(message.get("content") or "") for message in request.body["messages"]]
    return 1 + sum(f"Feedback on turn {number}" in text for number in range(1, 10) for text in texts)


def by_shell(commands: Callable[[int], str]) -> Callable[[Request], Answer]:
    """In each turn, run `commands(turn)` and end. The agent's other requests, such as for a title, get a short text."""

    def script(request: Request) -> Answer:
        tools = [tool["function"]["name"] for tool in request.body.get("tools", ())]
        shell = next((name for name in tools if name in SHELLS), None)
        last = request.body["messages"][-1]
        if shell is None:
            return say("A title")
        if last["role"] == "tool":
            return say(f"{DONE} ({turn_of(request)})")
        return call(shell, SHELLS[shell](commands(turn_of(request))))

    return script


def by_edit(turn: int) -> Callable[[Request], Answer]:
    """For an agent without tools: an answer with a change of the file, which is the right code from `turn` on."""

    def script(request: Request) -> Answer:
        number = turn_of(request)
        before, after = (DELIVERED if number == 1 else WRONG), (RIGHT if number >= turn else WRONG)
        change = f"<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE"
        return say(f"{DONE} ({number})\n\nanswer.py\n```python\n{change}\n```")

    return script


def solved_in(turn: int) -> Callable[[Request], Answer]:
    return by_shell(lambda number: wrote(RIGHT if number >= turn else WRONG))

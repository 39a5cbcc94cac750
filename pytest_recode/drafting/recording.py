"""Run a repository's tests and scripts in a sandbox, and read the calls that they make."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.drafting.recorded_values import RecordedCall, Unreadable, read_call
from pytest_recode.inside.wire import frames
from pytest_recode.sandboxes import Sandbox
from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Environment, Files, Limits
from pytest_recode.wording import some_of

SECONDS = 300.0  # of one program of the repository
SENDING_SECONDS = 120.0
LIMITS = Limits(memory_mb=4096, disk_mb=1024, pids=256)
_MOST_MESSAGE = 256 << 20
_MOST_MESSAGES = 10_000
_NAME, _VERSION = re.compile(r"[A-Za-z0-9._-]{1,100}"), re.compile(r"[A-Za-z0-9.+!_-]{1,100}")
"""Of distributions: they become lines of a file that pip reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What one program did. `counts`: for a function and what happened ("calls", "x is a value of type …"), how often.

    `error`: why the target could not be imported. `output`: the end of what the program printed. `versions`: distribution and version of
    top-level modules. `ended`: how the program ended if it did not end in order.
    """

    command: str
    calls: tuple[RecordedCall, ...] = ()
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    error: str = ""
    output: str = ""
    versions: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    ended: str = ""


def record(
    sandbox: Sandbox,
    files: Files,
    *,
    root: str,
    module: str,
    functions: Sequence[str],
    command: Sequence[str],
    imports: Sequence[str],
    most: int,
) -> Recording:
    """Run `command` (a script and its arguments, or `-m`, a module and its arguments) and record at most `most` calls of each function.

    Raises `SandboxError`, `UserError`.
    """
    request = {
        "files": dict(files),
        "roots": list(dict.fromkeys([root, "."])),
        "module": module,
        "functions": list(functions),
        "command": list(command),
        "imports": list(imports),
        "most": most,
    }
    shown = shown_command(command)
    connection = sandbox.launch(program("call-recorder", "recording.call_recorder"), Environment(), LIMITS)
    calls: list[RecordedCall] = []
    try:
        deadline = time.monotonic() + SENDING_SECONDS
        frames.send_message(connection, request, deadline)
        deadline = time.monotonic() + SECONDS
        for _ in range(_MOST_MESSAGES):
            message = frames.receive_message(connection, _MOST_MESSAGE, deadline)
            if "end" in message:
                return _ended(shown, calls, message["end"])
            calls.append(read_call(message.get("call"), tuple(functions)))
        return Recording(command=shown, calls=tuple(calls), ended="was ended after too many messages")
    except TimeoutError:
        return Recording(command=shown, calls=tuple(calls), ended=f"was ended after {SECONDS:g} s")
    except (EOFError, ConnectionError, frames.WireError, Unreadable) as error:
        how = connection.kill()
        return Recording(command=shown, calls=tuple(calls), ended=how or str(error))
    finally:
        connection.kill()


def _checked(pattern: re.Pattern[str], text: Any) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise Unreadable("a distribution or version with a strange name")
    return text


def shown_command(command: Sequence[str]) -> str:
    """The command for messages: "pytest tests/test_a.py and 2 more", "python examples/x.py"."""
    if list(command[:2]) != ["-m", "pytest"]:
        return " ".join(["python", *command])
    return f"pytest {some_of([each for each in command if each.endswith('.py')], 2)}"


def _ended(command: str, calls: Sequence[RecordedCall], end: Any) -> Recording:
    try:
        return Recording(
            command=command,
            calls=tuple(calls),
            counts={(str(name), str(what)): int(count) for name, what, count in end["counts"]},
            error=str(end["error"]),
            output=str(end["output"]),
            versions={
                str(module): (_checked(_NAME, found[0]), _checked(_VERSION, found[1])) if found else None
                for module, found in end["versions"].items()
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Unreadable(f"a report that cannot be read ({error})") from None

"""A client of the Agent Client Protocol for one turn: it starts an agent, gives it the prompt of its standard input, and waits for its end.

Runs in a workspace's sandbox as the program that plays (`agents/command_line/acp.py`), as a file of its own. The agent is another process
of the same rights, so nothing here is a boundary.

    python3 acp_client.py STAYS SESSION COMMAND...

`STAYS`: "stays" if later turns continue the session, which an agent without `loadSession` is refused for. `SESSION`: "" for a new one.
Writes lines of JSON: `{"session": ID}`, what the agent reports of its work, and `{"stopped": REASON}`. A failure is one line, and the status 1.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

VERSION = 1
LEAVING_SECONDS = 5.0
"""That an agent has to end after its last answer."""


class Failure(Exception):
    pass


class AgentProcess:
    """The agent's process; requests one at a time."""

    def __init__(self, command: list[str]) -> None:
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise Failure(f"{command[0]} cannot be started: {error.strerror or error}") from None
        self.number = 0
        self.quiet = False  # while it repeats an earlier conversation

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request. Meanwhile the agent's own requests are answered."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.next(method)
            if "method" in message:
                self.hear(message)
            elif message.get("id") == self.number:
                if "error" in message:
                    raise Failure(f"{method} failed: {_error(message['error'])}")
                return message.get("result") or {}

    def next(self, method: str) -> dict[str, Any]:
        while True:
            line = self.process.stdout.readline()  # type: ignore[union-attr]
            if not line:
                raise Failure(f"it ended during {method}, with status {self.process.wait()}")
            try:
                message = json.loads(line)
            except ValueError:  # an agent may write other lines there
                sys.stdout.write(line.decode("utf-8", "replace"))
                continue
            if isinstance(message, dict):
                return message

    def hear(self, message: dict[str, Any]) -> None:
        """A request or notification of the agent: permission is given, files and terminals it uses by itself."""
        params = message.get("params") or {}
        if "id" not in message:
            if not self.quiet:
                say(params)
        elif message["method"] == "session/request_permission":
            self.send({"id": message["id"], "result": {"outcome": _allowed(params.get("options") or [])}})
        else:
            error = {"code": -32601, "message": f"this client has no {message['method']}"}
            self.send({"id": message["id"], "error": error})

    def send(self, message: dict[str, Any]) -> None:
        with suppress(BrokenPipeError):  # `next` says how it ended
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]

    def end(self) -> None:
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        try:
            self.process.wait(LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _allowed(options: list[dict[str, Any]]) -> dict[str, Any]:
    allowing = [each for each in options if str(each.get("kind", "")).startswith("allow")]
    return {"outcome": "selected", "optionId": allowing[0]["optionId"]} if allowing else {"outcome": "cancelled"}


def _error(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    data = error.get("data")
    return f"{error.get('message')}" + (f" ({json.dumps(data)[:300]})" if data else "")


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


def turn(agent: AgentProcess, stays: bool, session: str, prompt: str) -> None:
    own = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    answer = agent.ask("initialize", protocolVersion=VERSION, clientCapabilities=own)
    if answer.get("protocolVersion") != VERSION:
        raise Failure(
            f"it speaks version {answer.get('protocolVersion')} of the protocol, and this client version {VERSION}"
        )
    if stays and not (answer.get("agentCapabilities") or {}).get("loadSession"):
        raise Failure(
            "it cannot load a session (loadSession), and so takes no feedback: use --recode-turns=1 or --recode-feedback=none"
        )
    place = {"cwd": os.getcwd(), "mcpServers": []}
    if session:
        agent.quiet = True
        agent.ask("session/load", sessionId=session, **place)
        agent.quiet = False
    else:
        session = agent.ask("session/new", **place)["sessionId"]
    say({"session": session})
    done = agent.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": prompt}])
    say({"stopped": done.get("stopReason")})


def main(stays: str, session: str, *command: str) -> int:
    os.makedirs(os.environ["HOME"], exist_ok=True)
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        agent = AgentProcess(list(command))
        try:
            turn(agent, stays == "stays", session, prompt)
        finally:
            agent.end()
    except Failure as failure:
        print(failure, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

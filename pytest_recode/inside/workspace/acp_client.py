"""A client of the Agent Client Protocol: it starts an agent, and gives it the prompt of each turn, in one session.

Runs in a workspace's sandbox as the program that plays (`agents/command_line/acp.py`), as a file of its own. The agent is another process
of the same rights, so nothing here is a boundary.

    python3 acp_client.py PROMPT SESSION COMMAND...

`PROMPT`: the file that has the prompt of a turn. `SESSION`: "" for a new one, else the one that is loaded, which an agent without
`loadSession` cannot. Standard input is the socket of a program that stays between turns (`runtime/command_runner.StayingCommand`).
Writes lines of JSON: `{"session": ID, "loads": WHETHER IT CAN BE LOADED}`, what the agent reports of its work, and `{"stopped": REASON}` after each
turn. A failure is one line, and the status 1; that the session is lost, `{"lost": WHY}`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import suppress
from typing import Any, Optional

VERSION = 1
LEAVING_SECONDS = 5.0
"""That an agent has to end after its last answer."""


class Failure(Exception):
    pass


class Lost(Failure):
    pass


class LineReader:
    """Complete lines of a descriptor. `ready`: those that were read and not taken. `ended`: whether no more will come."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.ready: list[bytes] = []
        self.ended = False
        self.rest: list[bytes] = []

    def read(self) -> None:
        """Wait for more."""
        data = os.read(self.fd, 1 << 16)
        self.ended = not data
        head, *lines = data.split(b"\n")
        self.rest.append(head)
        for line in lines:
            self.ready.append(b"".join(self.rest))
            self.rest = [line]

    def take(self) -> Optional[bytes]:
        """The next line; None at the end."""
        while not self.ready and not self.ended:
            self.read()
        return self.ready.pop(0) if self.ready else None


class AgentProcess:
    """The agent's process; requests one at a time. `turns`: the numbers of turns, as they begin."""

    def __init__(self, command: list[str], turns: LineReader) -> None:
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise Failure(f"{command[0]} cannot be started: {error.strerror or error}") from None
        self.lines = LineReader(self.process.stdout.fileno())  # type: ignore[union-attr]
        self.turns = turns
        self.number = 0
        self.quiet = False  # while it repeats an earlier conversation
        self.prompted = ""  # the session whose prompt the next turn cancels

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

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        """Ask what a turn is about. The request is cancelled when the next turn begins before it was answered."""
        self.prompted = session
        try:
            return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
        except Failure:
            if self.prompted or self.process.poll() is not None:
                raise
            return {"stopReason": "cancelled"}  # some say it by an error
        finally:
            self.prompted = ""

    def next(self, method: str) -> dict[str, Any]:
        while True:
            self.wait()
            line = self.lines.take()
            if line is None:
                raise Failure(f"it ended during {method}, with status {self.process.wait()}")
            try:
                message = json.loads(line)
            except ValueError:  # an agent may write other lines there
                print(line.decode("utf-8", "replace"), flush=True)
                continue
            if isinstance(message, dict):
                return message

    def wait(self) -> None:
        """Wait for the agent. Cancel its prompt if a turn begins meanwhile."""
        while self.prompted and not self.lines.ready and not self.turns.ended:
            if self.lines.fd in select.select([self.lines.fd, self.turns.fd], [], [])[0]:
                return
            self.turns.read()
            if self.turns.ready:
                self.send({"method": "session/cancel", "params": {"sessionId": self.prompted}})
                self.prompted = ""

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


def begin(agent: AgentProcess, session: str) -> str:
    """Open the session, and return its id."""
    own = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    answer = agent.ask("initialize", protocolVersion=VERSION, clientCapabilities=own)
    if answer.get("protocolVersion") != VERSION:
        raise Failure(
            f"it speaks version {answer.get('protocolVersion')} of the protocol, and this client version {VERSION}"
        )
    loads = bool((answer.get("agentCapabilities") or {}).get("loadSession"))
    place = {"cwd": os.getcwd(), "mcpServers": []}
    if session and not loads:
        raise Lost("its process has ended since the turn before, and it cannot load a session (loadSession)")
    if session:
        agent.quiet = True
        agent.ask("session/load", sessionId=session, **place)
        agent.quiet = False
    else:
        session = agent.ask("session/new", **place)["sessionId"]
    say({"session": session, "loads": loads})
    return session


def play(turns: LineReader, path: str, session: str, command: list[str]) -> None:
    number = turns.take()
    agent = AgentProcess(command, turns)
    try:
        session = begin(agent, session)
        while number is not None:
            with open(path, encoding="utf-8", errors="replace") as file:
                done = agent.prompt(session, file.read())
            say({"stopped": done.get("stopReason")})
            with suppress(OSError):
                os.write(turns.fd, number + b"\n")
            number = turns.take()
    finally:
        agent.end()


def main(path: str, session: str, *command: str) -> int:
    os.makedirs(os.environ["HOME"], exist_ok=True)
    try:
        play(LineReader(0), path, session, list(command))
    except Lost as lost:
        say({"lost": str(lost)})
        return 1
    except Failure as failure:
        print(failure, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

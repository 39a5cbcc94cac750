"""A provider with OpenAI's chat completions API that costs little CPU time: it answers after `--seconds`, and refuses calls beyond `--allowed`.

    python benchmarks/stub_provider.py --seconds 2 --allowed 4 --retry-after 1

Prints its URL. The first answers of an episode are wrong, and the one to its third turn is right. A program that offers a shell among its tools
is asked to write the file by a command, and then gets a text. `GET /v1/requests` returns a list of all
requests so far: [Unix time, task, status]. `POST /v1/fault {"status": 500, "seconds": 5}` makes it fail for a while; status 0 is a reset.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from aiohttp import web

CODE = "```python one.py\ndef one():\n    return {}\n```\n"
SHELLS = {"Bash": "command", "bash": "command", "exec_command": "cmd", "run_shell_command": "command"}
"""Shell tools of command-line agents: their names, and the argument that is the command."""


class Provider:
    def __init__(self, seconds: float, allowed: int, retry_after: str, turns: int) -> None:
        self._seconds, self._allowed, self._retry_after = seconds, allowed, retry_after
        self._last = f"Feedback on turn {turns - 1}" if turns > 1 else ""
        self._busy = 0
        self._requests: list[tuple[float, str, int]] = []
        self._fault = (0.0, 200)  # until when, and which status

    async def complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        prompt = "\n".join(str(message.get("content")) for message in body["messages"])
        found = re.search(r"the task (\w+)", prompt)
        status = self._status()
        self._requests.append((time.time(), found[1] if found else "", status))
        if status == 0 and request.transport is not None:
            request.transport.abort()
        if status != 200:
            headers = {"Retry-After": self._retry_after} if status == 429 and self._retry_after else {}
            return web.json_response({"error": {"message": f"status {status}"}}, status=status or 500, headers=headers)
        self._busy += 1
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self._busy -= 1
        return web.json_response(_completion(body, len(prompt) // 4, 1 if self._last in prompt else 2))

    def _status(self) -> int:
        until, status = self._fault
        if time.time() < until:
            return status
        return 429 if self._busy >= self._allowed else 200

    async def fault(self, request: web.Request) -> web.Response:
        told = await request.json()
        self._fault = (time.time() + told["seconds"], told["status"])
        return web.json_response({})

    async def requests(self, request: web.Request) -> web.Response:
        return web.json_response(self._requests)


def _completion(body: Mapping[str, Any], prompt: int, answer: int) -> dict[str, Any]:
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    shell = next((name for name in names if name in SHELLS), "")
    message: dict[str, Any] = {"role": "assistant", "content": "The file is written." if shell else CODE.format(answer)}
    acts = bool(shell) and body["messages"][-1]["role"] != "tool"
    if acts:
        arguments = {SHELLS[shell]: f"echo 'def one(): return {answer}' > one.py", "description": "writes the file"}
        function = {"name": shell, "arguments": json.dumps(arguments)}
        message = {
            **message,
            "tool_calls": [{"id": f"call_{time.time_ns()}", "type": "function", "function": function}],
        }
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if acts else "stop"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 100, "total_tokens": prompt + 100},
    }


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--allowed", type=int, default=10**9)
    parser.add_argument("--retry-after", default="")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    provider = Provider(options.seconds, options.allowed, options.retry_after, options.turns)
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", provider.complete)
    app.router.add_post("/v1/fault", provider.fault)
    app.router.add_get("/v1/requests", provider.requests)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    print(json.dumps(f"http://127.0.0.1:{runner.addresses[0][1]}/v1"), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

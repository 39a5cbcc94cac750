"""A real HTTP server on 127.0.0.1 that speaks OpenAI's chat completions, scripted answer by answer.

It stands behind litellm in the tests, also in those whose pytest runs in another process: give its `url` as
`--recode-api-base`.

    with ChatServer([say("hello"), fault(429, retry_after="0.1"), say("again")]) as server:
        ...                                   # server.requests: what was asked, in order
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

ANY_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a client asked. `body` is the parsed JSON, `number` counts the server's requests from 0."""

    number: int
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """The text of all messages, for scripts that look at what they were asked."""
        return "\n".join(str(message.get("content") or "") for message in self.body.get("messages", ()))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One HTTP answer. `raw` replaces the completion that is otherwise built from the fields above it."""

    text: str | None = ""
    tool_calls: Sequence[tuple[str, str]] = ()  # (name, arguments), the arguments as the model's own text
    refusal: str | None = None
    finish: str = "stop"
    usage: Mapping[str, int] | None = field(default_factory=lambda: dict(ANY_USAGE))
    raw: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: str = ""  # "before" the first byte, or in the "middle" of the body
    wait: threading.Event | None = None  # answer only once it is set (or the server closes)
    drip: bool = False  # never come to the answer: one blank after the other, as some providers keep a line open


Script = Callable[[Request], "Answer | str"] | Sequence["Answer | str"]


def say(text: str | None, **fields: Any) -> Answer:
    return Answer(text=text, **fields)


def call(name: str, arguments: Mapping[str, Any] | str, **fields: Any) -> Answer:
    """A tool call; arguments given as text are sent as they are, also where they are no JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Answer(text=None, tool_calls=((name, text),), finish="tool_calls", **fields)


def fault(status: int, message: str = "", *, code: str = "", retry_after: str = "") -> Answer:
    """An error in OpenAI's own shape; `code` as in "insufficient_quota" or "context_length_exceeded"."""
    error = {"message": message or f"scripted fault {status}", "type": code or "error", "param": None}
    return Answer(
        status=status,
        raw=json.dumps({"error": error | {"code": code or None}}).encode(),
        headers={"Retry-After": retry_after} if retry_after else {},
    )


def windowed(window: int, answer: Callable[[Request], str], *, says: str = "") -> Script:
    """A server with a context window of so many tokens, of four characters each, that refuses longer prompts as vLLM does.

    `says`: the text of its refusals, where it is another.
    """

    def script(request: Request) -> Answer:
        size = sum(len(str(request.body.get(part) or "")) for part in ("messages", "tools")) // 4
        if size > window:
            usual = f"This model's maximum context length is {window} tokens. However, your request has {size} input tokens."
            return fault(400, says or usual)
        return say(answer(request), usage={"prompt_tokens": size, "completion_tokens": 7, "total_tokens": size + 7})

    return script


def dropped(where: str = "before") -> Answer:
    return Answer(text="x" * 4096, drop=where)


def garbled() -> Answer:
    """A completion whose text holds bytes that are not UTF-8."""
    return replace(say("caf@@"), raw=_completion(say("caf@@"), "any").replace(b"@@", b"\xff\xfe\xc3"))


def silent(until: threading.Event | None = None) -> Answer:
    """No byte until the event is set, or for ever."""
    return Answer(text="late", wait=until or threading.Event())


def malformed() -> Answer:
    return Answer(raw=b'{"choices": [{"message": {"content": "cut o')


class DeadServer:
    """An address that refuses connections, for as long as the context lasts.

    Its port stays bound: a port that is only free may become another test's server.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        # So that a server that is started late can have the same port.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> DeadServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


class ChatServer:
    """The server, as a context manager; `requests` grows as they come, `url` ends in `/v1`.

    `script` may be replaced between requests. It is a function of the request, or a list, one entry per request; a list that has run out answers with
    status 400 and says so, so that a call too many is never taken for an answer.
    """

    def __init__(self, script: Script) -> None:
        self.requests: list[Request] = []
        self.script = script
        self.models: Sequence[object] | None = None  # what GET /v1/models lists; None: status 404
        self._lock = threading.Lock()
        self.closing = threading.Event()
        server = self

        class Handler(_Handler):
            owner = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[Request, Answer]:
        with self._lock:
            request = Request(number=len(self.requests), path=path, headers=headers, body=body)
            self.requests.append(request)
        if callable(self.script):
            answer = self.script(request)
        elif request.number < len(self.script):
            answer = self.script[request.number]
        else:
            answer = fault(400, f"the script has {len(self.script)} answers: this is request {request.number + 1}")
        return request, say(answer) if isinstance(answer, str) else answer


class _Handler(BaseHTTPRequestHandler):
    owner: ChatServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        models = self.owner.models if self.path == "/v1/models" else None
        payload = json.dumps({"object": "list", "data": models}).encode()
        self.send_response(404 if models is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(data)
        headers = {name.lower(): value for name, value in self.headers.items()}
        _, answer = self.owner.answer(self.path, headers, body)
        while answer.wait is not None and not answer.wait.wait(0.02) and not self.owner.closing.is_set():
            pass
        if answer.drop == "before":
            return self._hang_up()
        if answer.drip:
            return self._drip()
        payload = answer.raw if answer.raw is not None else _completion(answer, str(body.get("model", "")))
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if answer.drop == "middle":
            self.wfile.write(payload[: len(payload) // 2])
            self.wfile.flush()
            return self._hang_up()
        try:
            self.wfile.write(payload)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has gone: it waited no longer
        return None

    def _drip(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        try:
            while not self.owner.closing.wait(0.02):
                self.wfile.write(b" ")
        except (BrokenPipeError, ConnectionResetError):
            pass

    def _hang_up(self) -> None:
        """A reset, as a crashed server or a middlebox sends it: no polite end of the stream."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Silent: what was asked is in `ChatServer.requests`."""


def _completion(answer: Answer, model: str) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.refusal is not None:
        message["refusal"] = answer.refusal
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(answer.tool_calls)
        ]
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}],
    }
    if answer.usage is not None:
        body["usage"] = dict(answer.usage)
    return json.dumps(body).encode()


@pytest.fixture
def chat_server() -> Iterator[Callable[[Script], ChatServer]]:
    """Starts scripted servers and closes them: `server = chat_server([say("hi")])`."""
    servers: list[ChatServer] = []

    def start(script: Script) -> ChatServer:
        servers.append(ChatServer(script).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__()

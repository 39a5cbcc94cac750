"""The gateway's HTTP server: OpenAI's chat completions and embeddings, and agents' dialects, on a Unix socket, for callers with a token.

A caller that accepts `application/x-ndjson` gets the events of its call while it waits (`events.py`); any other client gets a plain
completion, or an error in OpenAI's format.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

from aiohttp import web

from pytest_recode.faults import CassetteError, ModelError, ModelFault, RecordsError, Stopped, UserError
from pytest_recode.gateway import DIALECT, NUMBER, GatewayConfig, caller_of, worker_of
from pytest_recode.gateway.agent_call import AgentCall
from pytest_recode.gateway.call import GatewayCall
from pytest_recode.gateway.dialects import DIALECTS
from pytest_recode.gateway.events import ENDED, STOPPED, Event, dump_error
from pytest_recode.gateway.run_service import RunService
from pytest_recode.gateway.service import Ask, Complete, Emit, ModelService
from pytest_recode.models import Caller, Reply
from pytest_recode.models.chat_format import request_of
from pytest_recode.models.provider import ProviderModel

EVENTS = "application/x-ndjson"
LARGEST = 1 << 30
"""Bytes of a request. Prompts are limited by the models' windows, not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Handled:
    """How a call is asked and answered. `complete`: as in `ModelService.answer`. `emitting`: changes the events. `alive_seconds`: after so many
    without an event there is one; None: never."""

    ask: Ask
    complete: Complete = dict
    emitting: Callable[[Emit], Emit] = lambda emit: emit
    alive_seconds: float | None = None


class Gateway:
    """The HTTP interface of a run's `ModelService`, and the calls in progress."""

    def __init__(self, config: GatewayConfig) -> None:
        self._secret = config.address.secret
        self._alive_seconds = config.alive_seconds
        self._service = ModelService(config)
        self._run = RunService(config)
        # with the call of each at the provider, as soon as there is one
        self._pending: dict[asyncio.Task[None], list[GatewayCall]] = {}
        self._stopped = self._ending = False

    def application(self) -> web.Application:
        app = web.Application(client_max_size=LARGEST, middlewares=[self._authorized])
        app.router.add_get("/v1/models/{name:.+}", self._facts)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/embeddings", self._embed)
        app.router.add_get("/v1/agents", self._adapters)
        app.router.add_post("/v1/agents/{dialect}", self._relay)
        app.router.add_post("/v1/gradings", self._seed)
        self._run.add_routes(app)
        return app

    def stop(self) -> None:
        """The run stops: requests that were sent are still awaited, and no other is sent."""
        self._stopped = True
        self._run.stop()
        for task, calls in self._pending.items():
            _withdraw(task, calls)

    async def drain(self, seconds: float, *, killed: bool) -> None:
        """Stop, and wait up to `seconds` for the answers that callers wait for.

        `killed`: the run was. Then its callers are gone, and every request that was sent is awaited: a resumed run uses its answer.
        """
        self.stop()
        self._ending = not killed
        for task, calls in self._pending.items():
            if self._ending and any(call.abandoned for call in calls):
                task.cancel()
        if self._pending:
            await asyncio.wait(self._pending, timeout=seconds)

    async def close(self) -> None:
        """End the calls in progress."""
        for task in self._pending:
            task.cancel()
        await asyncio.gather(*self._pending, return_exceptions=True)
        self._service.close()

    @web.middleware
    async def _authorized(self, request: web.Request, handler: Callable[[web.Request], Awaitable[Any]]) -> Any:
        credential = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if request.path.startswith("/v1/run/"):
            request["worker"] = worker_of(self._secret, credential)
            if request["worker"] is None:
                return _refused(401, "the files of a run need the token of a worker of this run")
            return await handler(request)
        caller = caller_of(self._secret, credential)
        if caller is None:
            return _refused(401, "this gateway needs the token of an episode of its run")
        request["caller"] = caller
        return await handler(request)

    async def _facts(self, request: web.Request) -> web.Response:
        temperature = float(request.query.get("temperature", 1.0))
        try:
            facts = await self._service.facts(request.match_info["name"], temperature)
        except (UserError, RecordsError) as error:
            return _refused(400, str(error), dump_error(error))
        return web.json_response(asdict(facts))

    async def _seed(self, request: web.Request) -> web.Response:
        body = await _body(request)
        try:
            seed = self._service.seed(request["caller"], str(body.get("subject")), body.get(NUMBER, 1))
        except (UserError, CassetteError, RecordsError) as error:
            return _refused(400, str(error), dump_error(error))
        return web.json_response({"seed": seed})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        try:
            chat_request = request_of(body)
        except ValueError as error:
            return _refused(400, str(error))

        def complete(model: ProviderModel) -> Awaitable[Reply]:
            return replace(model, temperature=body.get("temperature")).complete(chat_request)

        return await self._respond(request, body, _Handled(ask=complete))

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        texts = body.get("input")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return _refused(400, "input must be a list of texts")
        return await self._respond(request, body, _Handled(ask=lambda model: model.embed(texts)))

    async def _adapters(self, request: web.Request) -> web.Response:
        """Whether agents' own calls can be translated."""
        try:
            await self._service.check_adapters()
        except UserError as error:
            return _refused(400, str(error), dump_error(error))
        return web.json_response({"dialects": list(DIALECTS)})

    async def _relay(self, request: web.Request) -> web.StreamResponse:
        """An agent's own call: `request` in the body is its request, in its dialect."""
        dialect, body = request.match_info["dialect"], await _body(request)
        if dialect not in DIALECTS:
            return _refused(404, f"there is no dialect {dialect}: choose from {', '.join(DIALECTS)}")
        if not isinstance(body.get("request"), dict):
            return _refused(400, "request must be the agent's JSON object")
        call = AgentCall(DIALECTS[dialect], body["request"], body.get("temperature"), body.get("own") or {})
        handled = _Handled(
            ask=call.ask, complete=call.with_answer, emitting=call.emitting, alive_seconds=self._alive_seconds
        )
        return await self._respond(request, {**body, DIALECT: dialect}, handled)

    async def _respond(self, request: web.Request, body: dict[str, Any], call: _Handled) -> web.StreamResponse:
        if not isinstance(body.get("model"), str):
            return _refused(400, "model must be a name")
        async with aclosing(self._events(request["caller"], body, call)) as events:
            if EVENTS in request.headers.get("Accept", ""):
                response = web.StreamResponse(headers={"Content-Type": EVENTS})
                await response.prepare(request)
                async for event in events:
                    await response.write(json.dumps(event).encode() + b"\n")
                await response.write_eof()
                return response
            last: Event = {}
            async for event in events:
                last = event
            return web.json_response(last["body"]) if last["event"] == "answer" else _failed(last)

    async def _events(self, caller: Caller, body: dict[str, Any], call: _Handled) -> AsyncGenerator[Event]:
        """The events of a call. If the caller leaves, a request that was sent is still awaited, because it is billed."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        calls: list[GatewayCall] = []
        task = asyncio.create_task(self._answer(caller, body, call, queue.put_nowait, calls))
        self._pending[task] = calls
        task.add_done_callback(self._pending.pop)
        try:
            while True:
                try:
                    async with asyncio.timeout(call.alive_seconds):
                        event = await queue.get()
                except TimeoutError:
                    event = {"event": "alive"}
                yield event
                if event["event"] in ("answer", "error"):
                    return
        finally:
            for each in calls:
                each.abandon()
            _withdraw(task, calls)
            if self._ending:
                task.cancel()

    async def _answer(
        self,
        caller: Caller,
        body: dict[str, Any],
        call: _Handled,
        emit: Emit,
        calls: list[GatewayCall],
    ) -> None:
        try:
            if self._stopped:
                raise asyncio.CancelledError
            await self._service.answer(caller, body, call.ask, call.emitting(emit), calls, call.complete)
        except asyncio.CancelledError:
            emit(
                dump_error(Stopped(STOPPED) if self._stopped else ModelError(ModelFault.GATEWAY, body["model"], ENDED))
            )
            raise


def _withdraw(task: asyncio.Task[None], calls: Sequence[GatewayCall]) -> None:
    """Send no further request of a call. One that was sent is awaited, because it is billed."""
    for call in calls:
        call.withdraw()
    if not any(call.sent for call in calls):
        task.cancel()


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise web.HTTPBadRequest(text=_error("the body must be a JSON object"), content_type="application/json")
    return body


def _error(message: str, event: Event | None = None) -> str:
    error = {"message": message, "type": (event or {}).get("kind", "invalid_request_error")}
    return json.dumps({"error": error, **({"event": event} if event else {})})


def _refused(status: int, message: str, event: Event | None = None) -> web.Response:
    """An error in OpenAI's format. `event`: the same error for a worker."""
    headers = {"x-should-retry": "false"}  # for OpenAI's clients: the gateway has tried again already
    return web.json_response(text=_error(message, event), status=status, headers=headers)


_STATUS = {
    ModelFault.AUTH: 401,
    ModelFault.SPENT: 402,
    ModelFault.UNKNOWN: 404,
    ModelFault.NO_TOOLS: 404,
    ModelFault.RATE_LIMIT: 429,
    ModelFault.TIMEOUT: 504,
    ModelFault.CONTEXT: 400,
    ModelFault.REQUEST: 400,
}


def _failed(event: Event) -> web.Response:
    message = event.get("detail") or event["message"]
    if event["kind"] == "model":
        return _refused(_STATUS.get(ModelFault(event["fault"]), 502), message, event)
    return _refused(
        {"budget": 402, "user": 400, "cassette": 404, "stopped": 503}.get(event["kind"], 500), message, event
    )


async def serve(config: GatewayConfig, until: Callable[[Gateway], Awaitable[None]]) -> None:
    """Serve until `until` returns."""
    gateway = Gateway(config)
    runner = web.AppRunner(gateway.application(), handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    site = web.UnixSite(runner, config.address.socket)
    await site.start()
    try:
        await until(gateway)
    finally:
        await site.stop()  # no further call
        await gateway.close()
        await runner.cleanup()

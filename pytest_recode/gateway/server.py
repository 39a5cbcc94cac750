"""The gateway's HTTP server: OpenAI's chat completions and embeddings, on a Unix socket, for callers with a token.

A caller that accepts `application/x-ndjson` gets the events of its call while it waits (`events.py`); any other client gets a plain
completion, or an error in OpenAI's format.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from aiohttp import web

from pytest_recode.faults import ModelFault, UserError
from pytest_recode.gateway import GatewayConfig, Limit, ModelFacts, caller_of
from pytest_recode.gateway.budget import Budget
from pytest_recode.gateway.call import Call
from pytest_recode.gateway.events import Event, dump_error
from pytest_recode.gateway.throttle import Throttle
from pytest_recode.models import Caller, Embedded, ModelContext, Reply
from pytest_recode.models.chat_format import completion, request_of, usage_json
from pytest_recode.models.client import highest_cost, litellm, takes_temperature
from pytest_recode.models.provider import ProviderModel, check, provider_model
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.null_ledger import NullLedger

EVENTS = "application/x-ndjson"
LARGEST = 1 << 30
"""Bytes of a request. Prompts are limited by the models' windows, not here."""

Ask = Callable[[ProviderModel], Awaitable[Reply | Embedded]]


class Gateway:
    """The models, queues and budget of a run, and the calls in progress."""

    def __init__(self, config: GatewayConfig) -> None:
        self.config = config
        ledger = FileLedger(Path(config.ledger), config.max_cost, max_cost_of=config.max_cost_of)
        self.budget = Budget(ledger)
        self._throttles: dict[tuple[str, str], Throttle] = {}
        self._models: dict[str, ProviderModel] = {}
        self._pending: set[asyncio.Task[Any]] = set()
        self._loaded = asyncio.get_running_loop().run_in_executor(None, litellm)  # while pytest collects

    def application(self) -> web.Application:
        app = web.Application(client_max_size=LARGEST, middlewares=[self._authorized])
        app.router.add_get("/v1/models/{name:.+}", self._facts)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/embeddings", self._embed)
        return app

    async def close(self) -> None:
        """Abandon the calls in progress."""
        for task in self._pending:
            task.cancel()
        await asyncio.gather(*self._pending, return_exceptions=True)
        self.budget.close()

    @web.middleware
    async def _authorized(self, request: web.Request, handler: Callable[[web.Request], Awaitable[Any]]) -> Any:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        caller = caller_of(self.config.address.secret, given)
        if caller is None:
            return _refused(401, "this gateway needs the token of an episode of its run")
        request["caller"] = caller
        return await handler(request)

    async def _facts(self, request: web.Request) -> web.Response:
        await self._loaded
        try:
            model = self._model(request.match_info["name"])
        except UserError as error:
            return _refused(400, str(error), dump_error(error))
        facts = ModelFacts(
            native_tools=model.native_tools,
            window=model.window,
            takes_temperature=takes_temperature(model.entry, float(request.query.get("temperature", 1.0))),
        )
        return web.json_response(asdict(facts))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        try:
            asked = request_of(body)
        except ValueError as error:
            return _refused(400, str(error))

        def complete(model: ProviderModel) -> Awaitable[Reply]:
            return replace(model, temperature=body.get("temperature")).complete(asked)

        return await self._respond(request, body, complete)

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        texts = body.get("input")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return _refused(400, "input must be a list of texts")
        return await self._respond(request, body, lambda model: model.embed(texts))

    async def _respond(self, request: web.Request, body: dict[str, Any], ask: Ask) -> web.StreamResponse:
        name = body.get("model")
        if not isinstance(name, str):
            return _refused(400, "model must be a name")
        events = self._events(name, request["caller"], len(json.dumps(body)), ask)
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

    async def _events(self, name: str, caller: Caller, size: int, ask: Ask) -> AsyncIterator[Event]:
        """The events of a call. If the caller leaves, a request that was sent is still awaited, because it is billed."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        calls: list[Call] = []
        task = self._start(self._answer(name, size, ask, queue.put_nowait, calls))
        try:
            while True:
                event = await queue.get()
                yield event
                if event["event"] in ("answer", "error"):
                    return
        finally:
            for call in calls:
                call.abandon()
            if not any(call.sent for call in calls):
                task.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        return task

    async def _answer(self, name: str, size: int, ask: Ask, emit: Callable[[Event], None], calls: list[Call]) -> None:
        try:
            await self._loaded
            model = self._model(name)
            call = self._call(model, size, emit)
        except Exception as error:  # noqa: BLE001  the caller raises it
            emit(dump_error(error))
            return
        calls.append(call)
        try:
            made = replace(
                model, ledger=call, admission=call, warn=lambda text: emit({"event": "warning", "text": text})
            )
            answer = await ask(made)
            timing = call.timing
            body = completion(name, answer) if isinstance(answer, Reply) else _embeddings(name, answer)
            emit({"event": "answer", "body": body, **asdict(timing)})
        except Exception as error:  # noqa: BLE001  the caller raises it
            emit(dump_error(error))
        finally:
            call.close()

    def _call(self, model: ProviderModel, size: int, emit: Callable[[Event], None]) -> Call:
        prompt = size // 3  # characters of JSON: tokens are seldom shorter
        tokens, cost = highest_cost(model.entry, prompt)
        key = (model.name, model.entry.api_base or "")
        if key not in self._throttles:
            self._throttles[key] = Throttle(self._limit(model.name), self.config.workers)
        return Call(
            model.name,
            budget=self.budget,
            throttle=self._throttles[key],
            tokens=tokens,
            reserved_usd=cost,
            max_wait=self.config.max_wait,
            emit=emit,
        )

    def _limit(self, name: str) -> Limit:
        found = (limit for pattern, limit in self.config.limits.items() if fnmatch.fnmatchcase(name, pattern))
        return next(found, Limit())

    def _model(self, name: str) -> ProviderModel:
        """Raises `UserError`."""
        if name not in self._models:
            context = ModelContext(
                name=name,
                ledger=NullLedger(),
                api_base=self.config.api_base,
                call_seconds=self.config.call_seconds,
                max_cost=self.config.max_cost_of.get(name, self.config.max_cost),
                table=self.config.table,
            )
            check(context)
            self._models[name] = provider_model(context)
        return self._models[name]


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise web.HTTPBadRequest(text="the body must be a JSON object")
    return body


def _embeddings(name: str, found: Embedded) -> dict[str, Any]:
    data = [{"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(found.vectors)]
    return {"object": "list", "model": name, "data": data, "usage": usage_json(found.usage)}


def _refused(status: int, message: str, event: Event | None = None) -> web.Response:
    """An error in OpenAI's format. `event`: the same error for a worker."""
    error = {"message": message, "type": (event or {}).get("kind", "invalid_request_error")}
    return web.json_response({"error": error, **({"event": event} if event else {})}, status=status)


_STATUS = {
    ModelFault.AUTH: 401,
    ModelFault.UNKNOWN: 404,
    ModelFault.RATE_LIMIT: 429,
    ModelFault.TIMEOUT: 504,
    ModelFault.REQUEST: 400,
}


def _failed(event: Event) -> web.Response:
    message = event.get("detail") or event["message"]
    if event["kind"] == "model":
        return _refused(_STATUS.get(ModelFault(event["fault"]), 502), message, event)
    return _refused({"budget": 402, "user": 400}.get(event["kind"], 500), message, event)


async def serve(config: GatewayConfig, until: Callable[[], Awaitable[None]]) -> None:
    """Serve until `until` returns."""
    gateway = Gateway(config)
    runner = web.AppRunner(gateway.application(), handler_cancellation=True, access_log=None)
    await runner.setup()
    await web.UnixSite(runner, config.address.socket).start()
    try:
        await until()
    finally:
        await gateway.close()
        await runner.cleanup()

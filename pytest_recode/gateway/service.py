"""Handles a call in the gateway: use an answer that is stored, or wait for its turn, ask the provider, and store the answer."""

from __future__ import annotations

import asyncio
import fnmatch
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pytest_recode.faults import ModelError, ModelFault, UserError
from pytest_recode.gateway import DIALECT, FIRST_TURN, NUMBER, TURN, GatewayConfig, ModelFacts
from pytest_recode.gateway.budget import Budget
from pytest_recode.gateway.call import GatewayCall
from pytest_recode.gateway.cassette import Cassette, Question, Recorded
from pytest_recode.gateway.dialects.adapters import check_adapters
from pytest_recode.gateway.events import Event, dump_error, error_of
from pytest_recode.gateway.kept_answers import KeptAnswer, KeptAnswers, Place, place_of
from pytest_recode.gateway.throttle import Throttle
from pytest_recode.models import Caller, Embedded, ModelContext, Reply
from pytest_recode.models.chat_format import completion, usage_json
from pytest_recode.models.litellm_client import highest_cost, litellm, takes_temperature
from pytest_recode.models.provider import ProviderModel, check, provider_model
from pytest_recode.models.redaction import known_secrets, redacted, redacted_json
from pytest_recode.models.served_models import with_served_window
from pytest_recode.models.table import ModelEntry, key_variables, resolve
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.null_ledger import NullLedger
from pytest_recode.records.run_directory import LEDGER
from pytest_recode.usage import RateLimit

Ask = Callable[[ProviderModel], Awaitable[Reply | Embedded]]
Emit = Callable[[Event], None]
Complete = Callable[[dict[str, Any]], dict[str, Any]]
"""Adds to the body of an answer, before it is stored."""
SEED_BITS = 48
"""Bits of a grading's seed."""


class ModelService:
    """The models, queues, budget and cassette of a run."""

    def __init__(self, config: GatewayConfig) -> None:
        self.config = config
        ledger = FileLedger(Path(config.out) / LEDGER, config.max_cost, max_cost_of=config.max_cost_of, existing=True)
        self._budget = Budget(ledger)
        self._throttles: dict[tuple[str, str], Throttle] = {}
        self._models: dict[str, ProviderModel] = {}
        self._secrets = known_secrets(key_variables(config.table))
        self._cassette: Cassette | None = None
        self._answers = KeptAnswers(Path(config.out), config.run)
        self._only_replays = config.cassette is not None and config.cassette_mode == "replay"
        # loaded in another thread while pytest collects; a replay calls nobody
        self._loaded = (
            None
            if self._only_replays or not config.models
            else asyncio.get_running_loop().run_in_executor(None, litellm)
        )

    @property
    def cassette(self) -> Cassette | None:
        """Opened at the first use, so that its faults reach the caller. Raises `UserError`."""
        if self._cassette is None and self.config.cassette is not None:
            mode = self.config.cassette_mode
            directory = Path(self.config.cassette)
            self._cassette = Cassette(
                directory, reads=mode != "record", writes=mode != "replay", options=self.config.options
            )
        return self._cassette

    async def facts(self, name: str, temperature: float) -> ModelFacts:
        """Raises `UserError` for a model that cannot be called."""
        cassette = self.cassette
        if self._only_replays and cassette is not None:
            entry = cassette.facts(name)
            if entry is None:
                raise UserError(
                    f"--recode-cassette={self.config.cassette} has no calls of model {name}: record them with"
                    " --recode-cassette-mode=record"
                )
            return entry[1]
        model = await self._model(name)
        facts = ModelFacts(
            native_tools=model.native_tools,
            window=model.window,
            takes_temperature=takes_temperature(model.entry, temperature),
            answer=model.answer,
        )
        if cassette is not None:
            cassette.store_facts(name, model.entry.model, facts)
        return facts

    async def check_adapters(self) -> None:
        """Raises `UserError` if agents' own calls cannot be translated. A replay translates nothing."""
        if self._loaded is not None:
            await asyncio.shield(self._loaded)
            check_adapters()

    def seed(self, caller: Caller, subject: str, number: int) -> int | None:
        """The seed of a grading; None if the run has no cassette. Raises `CassetteError`."""
        if (cassette := self.cassette) is None:
            return None
        return cassette.seed(caller, subject, number, secrets.randbits(SEED_BITS))

    async def answer(
        self,
        caller: Caller,
        body: Mapping[str, Any],
        ask: Ask,
        emit: Emit,
        calls: list[GatewayCall],
        complete: Complete = dict,
    ) -> None:
        """Answer one call. The last event that is emitted has the answer or the error. `calls` gets the call of the provider."""
        name, emit = body["model"], self._without_secrets(emit)
        try:
            entry = await self._entry(name)
            cassette, question, number = self.cassette, *_question(entry, caller, body)
            place = place_of(caller, body, question.key)
            if place is not None and (answer := await self._answers.take(caller, place)):
                if cassette is not None and cassette.find(caller, question, number) is None:
                    cassette.store(caller, question, number, _recorded(answer))
                emit(_event(answer))
                return
            if cassette is not None:
                if recorded := cassette.find(caller, question, number):
                    if recorded.refused is not None:
                        raise error_of({**recorded.refused, "model": name})
                    emit(self._replayed(name, recorded))
                    return
                if self._only_replays:
                    raise cassette.missing(caller, question, number)
            try:
                answered = await self._asked(await self._model(name), caller, body, place, ask, emit, calls, complete)
            except ModelError as error:
                if cassette is not None and error.fault is ModelFault.CONTEXT:
                    cassette.store(caller, question, number, _refused(redacted_json(dump_error(error), self._secrets)))
                raise
            if cassette is not None:
                cassette.store(caller, question, number, _recorded(answered))
            emit(_event(answered))
        except Exception as error:  # noqa: BLE001  the caller raises it
            emit(dump_error(error))

    async def _asked(
        self,
        model: ProviderModel,
        caller: Caller,
        body: Mapping[str, Any],
        place: Place | None,
        ask: Ask,
        emit: Emit,
        calls: list[GatewayCall],
        complete: Complete,
    ) -> KeptAnswer:
        """Ask the provider, and keep the answer in `place`."""
        call = self._call(model, len(json.dumps(body)), _asked_limit(body), emit)
        calls.append(call)
        with nullcontext() if place is None else self._answers.asking(caller, place) as waiting:
            try:
                model = replace(model, ledger=call, admission=call, warn=lambda text: emit(_warning(text)))
                answer = await ask(model)
            finally:
                call.close()
            content = (
                redacted_json(completion(model.name, answer), self._secrets)
                if isinstance(answer, Reply)
                else _embeddings(model.name, answer)
            )
            stored = KeptAnswer(call=secrets.token_hex(8), body=complete(content), timing=call.timing)
            if place is not None and waiting is not None:
                self._answers.keep(caller, place, stored)
                waiting.set_result(stored)
            return stored

    def _replayed(self, name: str, recorded: Recorded) -> Event:
        cost = recorded.usage["cost"]
        self._budget.ledger.replay(name, cost)
        body = {**recorded.answer, "model": name, "usage": {**recorded.usage, "cost": 0.0}}
        times = {"waited": 0.0, "answering": recorded.answering}
        return {"event": "answer", "body": body, **times, "replayed": True, "recorded_usd": cost}

    def _without_secrets(self, emit: Emit) -> Emit:
        """Redact what providers' errors quote. Answers are redacted before they are stored."""

        def redacting(event: Event) -> None:
            emit(event if event["event"] == "answer" else redacted_json(event, self._secrets))

        return redacting

    def close(self) -> None:
        if self._cassette is not None:
            self._cassette.close()
        self._budget.close()

    def _call(self, model: ProviderModel, size: int, asked_limit: int, emit: Emit) -> GatewayCall:
        prompt = size // 3  # characters of JSON: tokens are seldom shorter
        tokens, cost = highest_cost(model.entry, prompt, asked_limit)
        key = (model.name, model.entry.api_base or "")
        if key not in self._throttles:
            self._throttles[key] = Throttle(self._limit(model), self.config.workers)
        return GatewayCall(
            model.name,
            budget=self._budget,
            throttle=self._throttles[key],
            prompt=prompt,
            answer=tokens - prompt,
            reserved_usd=cost,
            max_wait=self.config.max_wait,
            emit=emit,
            redact=lambda text: redacted(text, self._secrets),
        )

    def _limit(self, model: ProviderModel) -> RateLimit:
        """The limits of the first pattern that matches; what it does not limit is limited by the table of models."""
        matching = (limit for name, limit in self.config.limits.items() if fnmatch.fnmatchcase(model.name, name))
        found, entry = next(matching, RateLimit()), model.entry
        return RateLimit(
            rpm=found.rpm or entry.rpm, tpm=found.tpm or entry.tpm, concurrency=found.concurrency or entry.concurrency
        )

    async def _entry(self, name: str) -> ModelEntry:
        """The model that a name stands for. Raises `UserError`."""
        if not self._only_replays:
            return (await self._model(name)).entry
        entry = resolve(name, self.config.table, self.config.api_base)
        found = self.cassette.facts(name) if self.cassette is not None else None
        return replace(entry, model=found[0]) if found is not None else entry

    async def _model(self, name: str) -> ProviderModel:
        """Raises `UserError`."""
        if self._loaded is not None:
            await asyncio.shield(self._loaded)
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
            # another call may have been first
            self._models.setdefault(name, await self._with_window(provider_model(context)))
        return self._models[name]

    async def _with_window(self, model: ProviderModel) -> ProviderModel:
        """The model with the context window that its server states, or that it had when the answers that this run replays were recorded."""
        if model.entry.context is not None:
            return model
        recorded = (
            None if self.config.cassette_mode == "record" or not self.cassette else self.cassette.facts(model.name)
        )
        if recorded is not None and recorded[0] == model.entry.model:
            return replace(model, window=recorded[1].window)
        return await asyncio.to_thread(with_served_window, model)


def _question(entry: ModelEntry, caller: Caller, body: Mapping[str, Any]) -> tuple[Question, int]:
    """The request as a cassette identifies it, and how many times the caller has sent it, including this time.

    An agent's own call is identified by its position in the episode, that is its turn and its number there, and not by its content: agents write dates,
    identifiers and paths into their prompts, which differ in every run.
    """
    same = {"model": entry.model, "parameters": dict(entry.params), "attempt": caller.attempt}
    if (dialect := body.get(DIALECT)) is not None:
        given = {"temperature": body["temperature"]} if "temperature" in body else {}
        position = {"dialect": dialect, "turn": body.get(TURN), "call": body.get(NUMBER, 1)}
        return Question(parts={**given, **position, **same}, messages=(), tools=()), 1
    rest = {
        key: value for key, value in body.items() if key not in ("model", "messages", "tools", NUMBER, TURN, FIRST_TURN)
    }
    question = Question(parts={**rest, **same}, messages=body.get("messages", ()), tools=body.get("tools", ()))
    return question, body.get(NUMBER, 1)


def _asked_limit(body: Mapping[str, Any]) -> int:
    """The limit of the answer in tokens that an agent's own call asks for, in whichever dialect; 0 without one."""
    request = body.get("request")
    if DIALECT not in body or not isinstance(request, dict):
        return 0
    config = request.get("generationConfig")
    limits = [request.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    limits.append(config.get("maxOutputTokens") if isinstance(config, dict) else None)
    return max((limit for limit in limits if type(limit) is int), default=0)


def _event(answer: KeptAnswer) -> Event:
    return {"event": "answer", "body": answer.body, **asdict(answer.timing), "call": answer.call}


def _recorded(answer: KeptAnswer) -> Recorded:
    return Recorded(answer=answer.body, usage=answer.body["usage"], answering=round(answer.timing.answering, 3))


def _refused(event: Event) -> Recorded:
    """A prompt that is too long for the model: the agent's next prompt depends on it."""
    return Recorded(answer={}, usage={}, answering=0.0, refused=event)


def _warning(text: str) -> Event:
    return {"event": "warning", "text": text}


def _embeddings(name: str, embedded: Embedded) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(embedded.vectors)
    ]
    return {"object": "list", "model": name, "data": data, "usage": usage_json(embedded.usage)}

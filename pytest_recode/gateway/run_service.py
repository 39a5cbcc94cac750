"""Serves workers on other hosts, in the gateway: reads and writes the run's files and its ledger, and reports when the run stops.

    GET, POST, PATCH, PUT, DELETE /v1/run/files/FOLDER/NAME   read; open to append (answers the size); append at ?offset=; replace; remove
    GET /v1/run/locks/FOLDER/NAME.lock                        answers a line when the lock is held, which ends with the connection
    POST /v1/run/ledger/METHOD                                a method of `FileLedger` on behalf of the worker
    GET /v1/run/check                                         whether records can be written
    GET /v1/run/stop                                          whether the run stops; answers when it does, or after some time

`remote_run.py` is the other side.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from pytest_recode.faults import BudgetSpent, ModelError, RecordsError, Stopped, UserError
from pytest_recode.gateway import GatewayConfig
from pytest_recode.gateway.events import STOPPED, dump_error, error_of
from pytest_recode.records import locks
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.ledger_lines import Reach
from pytest_recode.records.run_directory import (
    ANSWERS,
    LEDGER,
    RESULTS,
    Lines,
    append_at,
    belongs_to,
    check_room,
    reading,
    replaced,
    subdirectory,
    writing,
)
from pytest_recode.schema.stored_forms import load
from pytest_recode.usage import Usage

FOLDERS = {
    "episodes": frozenset({"GET", "POST", "PATCH"}),
    "checkpoints": frozenset({"GET", "POST", "PATCH"}),
    "first-turns": frozenset({"GET", "PUT"}),
    "retrieval": frozenset({"GET", "POST", "PATCH", "PUT", "DELETE"}),
    ANSWERS: frozenset({"DELETE"}),
}
"""What workers may do with files in the folders of a run's directory. No worker changes or removes a line of an episode's records."""
LOCKED = frozenset({"first-turns", "retrieval"})
"""The folders with lock files."""
_POLL = 0.1  # seconds
_LONGEST = 30.0
"""Seconds until a question whether the run stops is answered: the worker repeats it, and notices a gateway that was started again."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RunService:
    """The directory and the ledger of a run, for its workers on other hosts."""

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self._out = Path(config.out)
        self._stopped = asyncio.Event()
        self._ledgers: dict[str, FileLedger] = {}  # by worker, each of which has its own open calls

    def add_routes(self, app: web.Application) -> None:
        for method, handler in {
            "GET": self._read,
            "POST": self._open,
            "PATCH": self._append,
            "PUT": self._replace,
            "DELETE": self._remove,
        }.items():
            app.router.add_route(method, "/v1/run/files/{name:.+}", _for_workers(handler))
        app.router.add_get("/v1/run/locks/{name:.+}", _for_workers(self._lock))
        app.router.add_post("/v1/run/ledger/{method}", _for_workers(self._ledger))
        app.router.add_get("/v1/run/check", _for_workers(self._check))
        app.router.add_get("/v1/run/stop", _for_workers(self._stop))

    def stop(self) -> None:
        self._stopped.set()

    def _path(self, request: web.Request) -> Path:
        """Raises `HTTPForbidden` for all but files of the folders, and for what may not be done with them."""
        name: str = request.match_info["name"]
        folder, file = _parts(name)
        shared = request.method in FOLDERS.get(folder, ()) and not file.endswith(".lock")
        if shared or (name == RESULTS and request.method == "GET"):
            return self._out / name
        raise web.HTTPForbidden(text=f"{name} is not a file that workers may {request.method}")

    def _lock_path(self, request: web.Request) -> Path:
        """Raises `HTTPForbidden` like `_path`."""
        name: str = request.match_info["name"]
        folder, file = _parts(name)
        if folder in LOCKED and file.endswith(".lock"):
            return self._out / name
        raise web.HTTPForbidden(text=f"{name} is not a lock of workers")

    async def _read(self, request: web.Request) -> web.StreamResponse:
        path = self._path(request)
        with reading(path):
            try:
                return web.Response(body=path.read_bytes())
            except FileNotFoundError:
                raise web.HTTPNotFound from None

    async def _open(self, request: web.Request) -> web.StreamResponse:
        path = self._path(request)
        Lines(path).close()
        with writing(path):
            return web.json_response(path.stat().st_size)

    async def _append(self, request: web.Request) -> web.StreamResponse:
        append_at(self._path(request), int(request.query["offset"]), await request.read())
        return web.json_response(None)

    async def _replace(self, request: web.Request) -> web.StreamResponse:
        path, text = self._path(request), await request.text()
        subdirectory(path.parent)
        replaced(path, text)
        return web.json_response(None)

    async def _remove(self, request: web.Request) -> web.StreamResponse:
        path = self._path(request)
        with writing(path):
            path.unlink(missing_ok=True)
        return web.json_response(None)

    async def _lock(self, request: web.Request) -> web.StreamResponse:
        path = self._lock_path(request)
        subdirectory(path.parent)
        with writing(path):
            file = locks.open_lock(path)
        with locks.closing(file):  # the handler is cancelled when the connection ends
            response = web.StreamResponse()
            await response.prepare(request)
            while not locks.try_acquire(file):
                await asyncio.sleep(_POLL)
            await response.write(b"locked\n")
            await asyncio.Event().wait()
        return response

    async def _check(self, request: web.Request) -> web.StreamResponse:
        with writing(self._out):
            if not belongs_to(self._out, self._config.run):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        check_room(self._out)
        return web.json_response(None)

    async def _stop(self, request: web.Request) -> web.StreamResponse:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), _LONGEST)
        return web.json_response(self._stopped.is_set())

    async def _ledger(self, request: web.Request) -> web.StreamResponse:
        config, worker = self._config, request["worker"]
        if worker not in self._ledgers:
            self._ledgers[worker] = FileLedger(
                self._out / LEDGER, config.max_cost, max_cost_of=dict(config.max_cost_of), existing=True
            )
        ledger, body = self._ledgers[worker], await request.json()
        match request.match_info["method"]:
            case "before_call":
                if self._stopped.is_set():
                    raise Stopped(STOPPED)
                ledger.before_call(body["model"])
            case "spent":
                ledger.spent(body["model"], load(Usage, body["usage"]))
            case "unanswered":
                ledger.unanswered(body["model"], body["why"])
            case "abandon":
                ledger.abandon(body["why"])
            case "fault":
                error = error_of(body["error"])
                if isinstance(error, ModelError):
                    ledger.fault(error)
            case "answered":
                return web.json_response(ledger.answered(body["model"]))
            case "reached":
                return web.json_response(ledger.reached(body["where"], Reach(body["now"])).value)
            case _:
                raise web.HTTPNotFound
        return web.json_response(None)


def _parts(name: str) -> tuple[str, str]:
    """The folder and the file of a name; two empty strings if it is not a plain file directly in a folder."""
    folder, _, file = name.partition("/")
    return ("", "") if not file or file.startswith(".") or "/" in file or "\0" in file else (folder, file)


def _for_workers(handler: Handler) -> Handler:
    """Serve only workers, and answer a fault that they expect as an event, which they raise."""

    async def handled(request: web.Request) -> web.StreamResponse:
        if not request.get("worker"):  # the server refuses it before
            raise web.HTTPForbidden
        try:
            return await handler(request)
        except (UserError, RecordsError, ModelError, BudgetSpent, Stopped) as error:
            return web.json_response(dump_error(error), status=409)

    return handled

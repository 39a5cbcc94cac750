"""The controlling process's side: start the gateway, start it again if it dies, end it with the run."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pytest_recode.gateway import GatewayConfig
from pytest_recode.models import GatewayAddress
from pytest_recode.models.redaction import known_secrets, redacted
from pytest_recode.models.table import key_variables
from pytest_recode.owned_directory import new_socket

RESTARTS = 5
"""How often in a row a gateway is started again that dies within a minute."""
_MINUTE = 60.0
ENDING = 10.0
"""Seconds that the gateway may take to end."""
ERRORS = "errors.txt"
"""Name of the file with the gateway's standard error, next to its socket."""

interpreter: Sequence[str] = (sys.executable,)
"""The command of the Python that runs the gateway."""


def new_address() -> GatewayAddress:
    """An address in a new directory that only this user can enter."""
    return GatewayAddress(socket=new_socket(), secret=secrets.token_hex(16))


class GatewayProcess:
    """The running gateway. `notify` shows a line to the user; it is called in another thread."""

    def __init__(self, config: GatewayConfig, notify: Callable[[str], None]) -> None:
        self.address = config.address
        self._config = config
        self._notify = notify
        self._closing = threading.Event()
        self._stopped = False
        self._lock = threading.Lock()
        self._errors = Path(config.address.socket).with_name(ERRORS)
        self._process = self._started()
        self._watch = threading.Thread(target=self._restart, name="recode-gateway", daemon=True)
        self._watch.start()

    def _started(self) -> subprocess.Popen[bytes]:
        Path(self.address.socket).unlink(missing_ok=True)
        with self._errors.open("wb") as errors:
            process = subprocess.Popen(
                [*interpreter, "-m", "pytest_recode.gateway"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                bufsize=0,
                start_new_session=True,  # Ctrl-C in the terminal stops the run, which then ends the gateway
            )
        _send(process, self._config.dumped())
        return process

    def _restart(self) -> None:
        left = RESTARTS
        while True:
            since = time.monotonic()
            status = self._process.wait()
            with self._lock:
                if self._closing.is_set():
                    return
                left = left - 1 if time.monotonic() - since < _MINUTE else RESTARTS
                again = "it is started again" if left >= 0 else "it has died too often, and is not started again"
                self._notify(f"the gateway, which calls the models, died ({_how(status)}): {again}{self._last_line()}")
                if left < 0:
                    self._remove()  # workers do not wait for it any longer
                    return
                try:
                    self._process = self._started()
                except OSError as error:
                    self._notify(f"the gateway, which calls the models, cannot be started again ({error.strerror})")
                    self._remove()
                    return
                if self._stopped:  # asked of the new process: a stop until here went to the one that died
                    _send(self._process, _STOP)

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """The run stops: the gateway sends no further request. Signal handlers may call it."""
        self._stopped = True
        _send(self._process, _STOP)

    def _last_line(self) -> str:
        lines = self._errors.read_text("utf-8", "replace").split("\n") if self._errors.exists() else []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        last = redacted(last, known_secrets(key_variables(self._config.table)))
        return f"; its last line: {last}" if last else ""

    def close(self) -> None:
        """End the gateway, and remove its directory."""
        self._closing.set()
        with self._lock:
            process = self._process
        _send(process, CLOSE)
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._watch.join()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(Path(self.address.socket).parent, ignore_errors=True)


_STOP = "stop"
CLOSE = "close"
"""The line that tells the gateway that its run ends in order. Without it, the controlling process was killed."""


def _send(process: subprocess.Popen[bytes], line: str) -> None:
    """Write a line to the gateway. If it has died, the thread that waits for it reports that."""
    assert process.stdin is not None
    data = f"{line}\n".encode()
    with suppress(BrokenPipeError, ValueError):  # ValueError: it is closed
        while data:
            data = data[process.stdin.write(data) :]


def _how(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def started(config: GatewayConfig, notify: Callable[[str], None]) -> GatewayProcess:
    """Start a gateway at a new address."""
    return GatewayProcess(replace(config, address=new_address()), notify)

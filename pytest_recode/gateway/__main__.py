"""The gateway's process: `python -m pytest_recode.gateway`, with its configuration as one line of JSON on the standard input.

A second line means that the run stops. The process ends when its standard input ends, which happens with the controlling process,
however that ends. If that was killed, answers to requests that were sent are stored first, for a resumed run.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from pytest_recode.gateway import GatewayConfig
from pytest_recode.gateway.server import Gateway, serve
from pytest_recode.gateway.supervisor import CLOSE, ERRORS
from pytest_recode.stopping import AWAITED


async def _run(config: GatewayConfig, further: bytes) -> bool:
    """Serve. `further`: lines that came before the gateway was there: the run has stopped. Returns whether the run has ended; if not, another gateway will
    listen here."""
    loop = asyncio.get_running_loop()
    ended, terminated = asyncio.Event(), asyncio.Event()
    closed = CLOSE.encode() in further.split(b"\n")
    loop.add_signal_handler(signal.SIGTERM, terminated.set)

    async def until(gateway: Gateway) -> None:
        if further:
            gateway.stop()

        def read() -> None:
            nonlocal closed
            if data := os.read(sys.stdin.fileno(), 1024):
                closed |= CLOSE.encode() in data.split(b"\n")
                gateway.stop()
            else:
                loop.remove_reader(sys.stdin.fileno())
                ended.set()

        async def drained() -> None:
            await ended.wait()
            await gateway.drain(AWAITED, killed=not closed)

        loop.add_reader(sys.stdin.fileno(), read)
        waits = [asyncio.create_task(wait) for wait in (drained(), terminated.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()

    try:
        await serve(config, until)
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return ended.is_set()


def main() -> None:
    warnings.simplefilter("ignore")  # of litellm and its dependencies
    line, further = _first_line(sys.stdin.fileno())
    config = GatewayConfig.loaded(line)
    if asyncio.run(_run(config, further)):
        _remove(Path(config.address.socket))


def _first_line(descriptor: int) -> tuple[str, bytes]:
    """The first line, and what was read behind it. Without a buffer, in which a line that follows at once would stay unseen."""
    data = b""
    while b"\n" not in data and (more := os.read(descriptor, 65536)):
        data += more
    line, _, further = data.partition(b"\n")
    return line.decode(), further


def _remove(listened: Path) -> None:
    """Remove the socket and its directory, which the controlling process cannot do if it was killed."""
    for path in (listened, listened.with_name(ERRORS)):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        listened.parent.rmdir()


if __name__ == "__main__":
    main()

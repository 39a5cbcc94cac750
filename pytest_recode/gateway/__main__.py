"""The gateway's process: `python -m pytest_recode.gateway`, with its configuration as one line of JSON on the standard input.

It ends when its standard input ends, which happens with the controlling process, however that ends.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import warnings

from pytest_recode.gateway import GatewayConfig
from pytest_recode.gateway.server import serve


async def _run(config: GatewayConfig) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def read() -> None:
        if not sys.stdin.buffer.read1(1024):  # type: ignore[union-attr]
            ended.set()

    loop.add_reader(sys.stdin.fileno(), read)
    loop.add_signal_handler(signal.SIGTERM, ended.set)

    async def until() -> None:
        await ended.wait()

    try:
        await serve(config, until)
    finally:
        loop.remove_reader(sys.stdin.fileno())


def main() -> None:
    warnings.simplefilter("ignore")  # of litellm and its dependencies
    asyncio.run(_run(GatewayConfig.loaded(sys.stdin.readline())))


if __name__ == "__main__":
    main()

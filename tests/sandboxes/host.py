"""A host to be killed: opens the sandbox its arguments name, starts a process inside, and waits.

python -m tests.sandboxes.host KIND RUN MARK IMAGE
"""

from __future__ import annotations

import sys
import time

from pytest_recode.sandboxes import SandboxContext
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import KINDS


def main(kind: str, run: str, mark: str, image: str) -> None:
    sandbox = KINDS[kind][1](SandboxContext(run=run, python=sys.executable, image=image))
    bench = Bench(sandbox=sandbox, environment=Environment(), limits=Limits(memory_mb=256, disk_mb=32, pids=32))
    with bench.probe() as probe, bench.probe(persistent=True) as persistent:
        child = ["-c", "import time; time.sleep(600)", mark]
        probe.ask(f"import subprocess, sys; subprocess.Popen([sys.executable, *{child!r}], start_new_session=True)")
        persistent.send(
            f"import sys; from _recode.runtime import command_runner; command_runner.run([sys.executable, *{child!r}], cwd='.', seconds=600, output_limit=9)"
        )
        print("up", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])

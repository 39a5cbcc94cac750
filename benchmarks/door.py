"""What the door of a workspace costs each call of a program: milliseconds there and back.

    python benchmarks/door.py            300 calls of 100 kB, one after the other
    python benchmarks/door.py --quick    30

The host answers at once, so that no model and no gateway is in the numbers. Bubblewrap.
"""

from __future__ import annotations

import sys

from pytest_recode.agents.door_requests import DoorAnswer, DoorRequest, Playing
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.sandboxes import SandboxContext, bubblewrap
from pytest_recode.task import Brief, Environment, Limits

CALLS = 30 if "--quick" in sys.argv[1:] else 300
CLIENT = """
import statistics, time, urllib.request
body, found = b"x" * 100_000, []
for _ in range({calls}):
    start = time.perf_counter()
    assert len(urllib.request.urlopen("http://127.0.0.1:{port}/v1/messages", body).read()) == 10_000
    found.append((time.perf_counter() - start) * 1000)
print(f"{{statistics.median(found):.1f}} ms per call (median), {{max(found):.1f}} ms at most")
"""


class Service:
    """A `DoorService` that answers at once."""

    over = False

    def serve(self, _: DoorRequest, answer: DoorAnswer) -> None:
        answer.begin(200, {"Content-Type": "application/json"})
        answer.send(b"x" * 10_000)


def main() -> None:
    sandbox = bubblewrap.make(SandboxContext(run="door", python=sys.executable))
    brief = Brief(task="a", title="", instruction="", paper="", repo={}, targets=(), interfaces=())
    with SandboxWorkspace(sandbox, brief, Environment(), Limits()) as workspace:
        code = CLIENT.format(calls=CALLS, port=workspace.place().port)
        playing = Playing(argv=("python3", "-c", code), env={}, files={"in": b""}, entered="in", seconds=300.0)
        print(workspace.play(playing, Service()).output.strip())
    sandbox.close()


if __name__ == "__main__":
    main()

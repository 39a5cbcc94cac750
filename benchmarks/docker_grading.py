"""One turn's grading with docker, warm image, three seconds after the one before it, as a model thinks at least that long.

Goal: under 1 s. Usage: python benchmarks/docker_grading.py IMAGE (with Python 3, pytest, numpy and scipy in it).
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from pytest_recode.formats.directory import FORMAT
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import SandboxContext
from pytest_recode.sandboxes.docker_ import KIND

ROUNDS, THINKING = 5, 3.0


def main(image: str) -> None:
    sandbox = KIND.make(SandboxContext(run="benchmark", python=sys.executable, image=image))
    try:
        for manifest in sorted((Path(__file__).resolve().parents[1] / "tasks").glob("*/task.yaml")):
            [task] = FORMAT.load(manifest)
            parts = task.load()
            seconds = []
            for _ in range(ROUNDS):
                time.sleep(THINKING)
                start = time.perf_counter()
                verdict = judge(task, parts, parts.reference, sandbox)
                seconds.append(time.perf_counter() - start)
                if not verdict.solved:
                    sys.exit(f"{task.id}: the reference was not judged right")
            print(f"{task.id:<28} first {seconds[0]:5.2f} s  then {statistics.median(seconds[1:]):5.2f} s")
    finally:
        sandbox.close()


if __name__ == "__main__":
    main(sys.argv[1])

"""Record `tests/cassette`, the run that `tests/plugin/test_recorded_run.py` replays: `python -m tests.record_cassette`.

Needed after a change of the prompts. The answers are those of a model that misreads one requirement of soft-nms, and corrects
it after feedback; a server on this machine gives them to the real litellm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.chat_server import Answer, ChatServer, Request, say

ROOT = Path(__file__).resolve().parents[1]
CASSETTE = Path(__file__).with_name("cassette")
RIGHT = ROOT / "tasks/soft-nms/proofs/right/scalar/detector/suppression.py"
MISREAD = ("-(iou * iou) / sigma", "-(iou * iou) / (2 * sigma)")
TARGET = "detector/suppression.py"
RUN = (
    *("tasks/soft-nms", "--recode-model=openai/recorded", "--recode-feedback=L2"),
    *("--recode-sandbox=bubblewrap", "--recode-turns=3", f"--recode-cassette={CASSETTE}"),
)


def written(code: str) -> str:
    """An answer that writes the target and submits, in the text form."""
    parts = ["### Observation\nI have read the instruction.", "### Reflection\nOne file.", "### Planning\nWrite it."]
    return "\n".join([*parts, f"```python {TARGET}\n{code}```\n\nSUBMIT\n"])


def answers(request: Request) -> Answer:
    right = RIGHT.read_text("utf-8")
    assert MISREAD[0] in right
    return say(written(right if "Feedback on turn 1" in request.prompt else right.replace(*MISREAD)))


def main() -> None:
    shutil.rmtree(CASSETTE, ignore_errors=True)
    with ChatServer(answers) as server, tempfile.TemporaryDirectory() as place:
        options = (f"--recode-api-base={server.url}", f"--recode-out={place}/out", "--recode-cassette-mode=record")
        environment = {**os.environ, "OPENAI_API_KEY": "none"}
        done = subprocess.run([sys.executable, "-m", "pytest", *RUN, *options], cwd=ROOT, env=environment, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

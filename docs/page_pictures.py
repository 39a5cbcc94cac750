"""Take docs/pictures/overview.png and docs/pictures/episode.png: pages of a report as a browser shows them.

Plays some of the bundled tasks with the simulated models. Needs chromium, bubblewrap and the extras `tasks` and `html`; from the repository's root.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURES = Path("docs/pictures")
WIDTH, HEIGHT = 1100, 1000
MOST_BYTES = 100_000
TASKS = (
    *("ademamix", "bpe", "cmmd", "conformal-risk", "double-sphere", "etdrk4", "gaussian-relocation", "kto"),
    *("mbr-aggregation", "opes", "scalar-codes", "schedule-free", "sinkhorn", "smooth-ece", "snapkv", "soft-nms"),
    *("speculative-decoding", "tau-leaping", "token-automata", "token-merging"),
)
"""Quick ones. All tasks would take several times as long; fewer would be too few for a report without a caveat."""
RUN = (
    *(*(f"tasks/{task}" for task in TASKS), "-q", "-p", "no:cacheprovider", "-n", "2", "--recode-seed=3"),
    *("--recode-turns=4", "--recode-sandbox=bubblewrap"),
    *("--recode-model=sim/graduate", "--recode-feedback=L0", "--recode-feedback=L2", "--recode-feedback=L4"),
)
EPISODE = "soft-nms: sim/graduate (simulated), L2"
"""The beginning of the title of the episode that is shown."""


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        # Unsolved episodes are failed tests, so the status says nothing here
        subprocess.run([sys.executable, "-m", "pytest", *RUN, f"--recode-out={place / 'levels'}"], check=False)
        report = place / "report.html"
        command = [sys.executable, "-m", "pytest_recode.cli", "html", str(place / "levels"), "-o", str(report)]
        subprocess.run(command, check=True)
        heading = re.search(rf'<h1 id="(e\d+)-head">{re.escape(EPISODE)}', report.read_text("utf-8"))
        if heading is None:
            sys.exit(f"the report has no episode {EPISODE}")
        PICTURES.mkdir(exist_ok=True)
        take(report, "overview", PICTURES / "overview.png")
        take(report, heading[1], PICTURES / "episode.png")


def take(report: Path, anchor: str, picture: Path) -> None:
    """Take a picture of the part `anchor` of the report, with a palette of 64 colours, which its few colours fit."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    options = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"),
        *(f"--user-data-dir={report.parent / 'browser'}", f"--screenshot={picture.resolve()}"),
    ]
    subprocess.run([browser, *options, f"{report.as_uri()}#{anchor}"], check=True, capture_output=True, timeout=300)
    with Image.open(picture) as whole:
        few = whole.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)
    if (size := picture.stat().st_size) > MOST_BYTES:
        sys.exit(f"{picture} has {size} bytes, more than {MOST_BYTES}: make it smaller")


if __name__ == "__main__":
    main()

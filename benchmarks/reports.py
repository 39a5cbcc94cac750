"""What the commands that read a run cost: report on 10,000 records, html of 1,000 episodes, show of one of 1,000.

Plays the bundled tasks with the simulated models, without feedback and with three levels of it, and repeats the episodes under other
names of tasks. From the repository's root; needs the extras `tasks` and `html`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import cost, pytest_command, show

RECORDS, EPISODES = 10_000, 1_000
LAPS = 25  # each bundled task becomes so many; further episodes are attempts at them
MODELS = ("--recode-model=sim/novice", "--recode-model=sim/graduate")
LEVELS = ("--recode-feedback=L0", "--recode-feedback=L2", "--recode-feedback=L4", "--recode-turns=4")


def played(out: Path, *options: str) -> Path:
    command = pytest_command("tasks", *MODELS, *options, "-n", "2", "--recode-seed=3", f"--recode-out={out}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (out / "results.jsonl").is_file():
        sys.exit(done.stdout + done.stderr)
    return out


def repeated(run: Path, out: Path, number: int, *, transcripts: bool) -> Path:
    """A run of `number` episodes: those of `run`, again and again, of other tasks and as further attempts."""
    (out / "episodes").mkdir(parents=True)
    records = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    with (out / "results.jsonl").open("w") as file:
        for place in range(number):
            lap, record = place // len(records), records[place % len(records)]
            task, attempt = f"{record['task']}-{lap % LAPS}", lap // LAPS + 1
            nodeid = record["nodeid"].replace(record["task"], task).replace("]", f"-{attempt}]")
            own = {"task": task, "nodeid": nodeid, "attempt": attempt}
            path = record["transcript"].replace(".jsonl", f"-{lap}.jsonl")
            file.write(json.dumps({**record, **own, "transcript": path}) + "\n")
            if transcripts:
                first, *lines, last = (run / record["transcript"]).read_text().splitlines()
                ends = [json.dumps({**json.loads(line), **own}) for line in (first, last)]
                (out / path).write_text("\n".join([ends[0], *lines, ends[1]]) + "\n")
    return out


def main() -> None:
    command = [sys.executable, "-m", "pytest_recode.cli"]
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        single = played(place / "single", "--recode-feedback=none")
        several = played(place / "several", *LEVELS)
        short = repeated(single, place / "short", RECORDS, transcripts=False)
        long = repeated(several, place / "long", RECORDS, transcripts=False)
        whole = repeated(several, place / "whole", EPISODES, transcripts=True)
        one = json.loads((whole / "results.jsonl").read_text().splitlines()[EPISODES // 2])["nodeid"]
        sizes = {path.name: (path / "results.jsonl").stat().st_size / 1e6 for path in (short, long, whole)}
        print("results.jsonl:", ", ".join(f"{name} {size:.1f} MB" for name, size in sizes.items()))
        # The first call compiles and fills the caches of the file system
        cost([*command, "show", str(whole), one], place)
        costs = {
            "report, one turn each": cost([*command, "report", str(short)], place),
            "report, up to four turns": cost([*command, "report", str(long)], place),
            "html": cost([*command, "html", str(whole), "-o", "report.html"], place),
            "show": cost([*command, "show", str(whole), one], place),
        }
        show(costs)


if __name__ == "__main__":
    main()

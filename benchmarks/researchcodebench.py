"""ResearchCodeBench's own harness beside this project: the same answers on the same machine, in turn.

Goals, on two cores, for the 191 challenges whose reference passes without a GPU and without the network: at most 60 s with the
sandbox on and everything from command to summary included, at most 4 GiB resident in all; one challenge alone, cold, at most
6 s over its own imports.

Usage: python benchmarks/researchcodebench.py CLONE PYTHON [--papers minp LEN], or RECODE_RCB and RECODE_RCB_PYTHON in place of
the first two. PYTHON has what the papers need and, for the harness, pydantic, PyYAML, tqdm and matplotlib. Nothing is written
into the clone. The status is 1 where the two do not agree about a challenge. The answers are the authors' lines; with
`--answers empty`, no line, which almost every paper's tests notice.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from measure import pytest_command

LEFT_OUT = ("GMFlow", "REPA-E")
"""Their own code fails: numbers of another machine are expected; weights are downloaded."""
PERIOD = 1.0
"""Seconds between two looks at the memory: each walks the page tables of every process, and takes time from them."""
GOALS = {"seconds": 60, "MiB": 4096, "cold": 6}

HARNESS = '''\
"""Run in a copy of the clone: PSet.test_all as main.py calls it, every answer being the lines that stand there, or none."""

import importlib.util
import json
import sys
import time
import types


class Unused:
    def __init__(self, *args, **rest):
        pass


# The harness imports its clients of models, but asks no model when it only tests: where a client's package is not installed,
# names stand in for it. In sys.modules rather than on the path, so that the tests' own processes know nothing of them.
for name, used in {"openai": ("AsyncOpenAI", "RateLimitError"), "httpx": ("AsyncClient", "Limits", "Timeout")}.items():
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = types.ModuleType(name)
        for each in used:
            setattr(sys.modules[name], each, Unused)

from core.annotation.models.code import Code
from core.annotation.models.prediction import Completion, Prediction
from core.annotation.models.pset import PSet

report, answers, *papers = sys.argv[1:]
pset = PSet.parse_pset("./pset/", None, papers)
snippets = [
    (problem.folder_name, snippet)
    for problem in pset.problems
    for file in problem.problem_files
    for snippet in file.snippets
]
for _, snippet in snippets:
    lines = list(snippet.code.lines) if answers == "reference" else []
    answer = Completion(completion="\\n".join(lines), formatted_completion=Code(lines))
    snippet.predictions = {"reference": Prediction(completions=[answer])}
start = time.perf_counter()
pset.test_all("./pset/", "./.cache/", timeout_seconds=60, output_file="answers.json")
seconds = time.perf_counter() - start
verdicts = []
for paper, snippet in snippets:
    result = snippet.predictions["reference"].completions[0].test_result
    verdicts.append((paper, snippet.name, result.passed))
with open(report, "w") as file:
    json.dump({"seconds": seconds, "verdicts": verdicts}, file)
'''

IMPORTS = """\
import time
start = time.perf_counter()
import paper2code_test
print("\\n", time.perf_counter() - start)
"""

AGENTS = {"reference": "reference", "empty": "noop"}
"""Kinds of answers, and the agent that gives them here."""

Verdicts = Mapping[tuple[str, str], str]
"""By paper and snippet: solved, unsolved or, of this project alone, error."""


class Run(NamedTuple):
    seconds: float
    mib: float
    verdicts: Verdicts


def main() -> None:
    args = arguments()
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".cache", "outputs")
        copy = Path(shutil.copytree(args.clone, here / "clone", symlinks=True, ignore=ignored))
        print(
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; {len(args.papers)} papers", flush=True
        )
        upstream_runs, own_runs, agreed = [], [], []
        for number in range(args.rounds):
            upstream_runs.append(upstream(copy, args))
            show("upstream's PSet.test_all", upstream_runs[-1])
            selected = " or ".join(f"recode(paper={paper!r})" for paper in args.papers)
            own_runs.append(
                project(args, here, f"all{number}", AGENTS[args.answers], "-m", selected, "-n", str(args.workers))
            )
            show(f"pytest-recode, -n {args.workers}", own_runs[-1])
            agreed.append(agree(upstream_runs[-1], own_runs[-1]))
        seconds = [statistics.median(run.seconds for run in runs) for runs in (upstream_runs, own_runs)]
        print(
            f"ratio {seconds[0] / seconds[1]:.1f}; for all papers: at most {GOALS['seconds']} s and {GOALS['MiB']} MiB"
        )
        cold(args, here, copy)
    sys.exit(0 if all(agreed) else 1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clone", nargs="?", type=Path, default=os.environ.get("RECODE_RCB"))
    parser.add_argument("python", nargs="?", type=Path, default=os.environ.get("RECODE_RCB_PYTHON"))
    parser.add_argument("--papers", nargs="+", metavar="ID", help="default: all but " + " and ".join(LEFT_OUT))
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="pytest's -n")
    parser.add_argument(
        "--rounds", type=int, default=1, metavar="N", help="both in turn, N times; medians make the ratio"
    )
    parser.add_argument("--answers", choices=AGENTS, default="reference", help="default: reference")
    parser.add_argument(
        "--one", default="minp and scale", metavar="EXPR", help="-k of the one challenge that is run cold"
    )
    args = parser.parse_args()
    if args.clone is None or args.python is None:
        parser.error("give CLONE and PYTHON, or set RECODE_RCB and RECODE_RCB_PYTHON")
    args.clone, args.python = args.clone.absolute(), args.python.absolute()  # not resolved: a venv is known by its link
    manifest = args.clone / "pset" / "papers.yaml"
    if not manifest.is_file():
        parser.error(f"{manifest}: no such file; CLONE is a clone of ResearchCodeBench")
    if not (args.python.parent / "python").is_file():
        parser.error(f"{args.python.parent}/python: no such file, and by this name the harness starts the tests")
    known = [paper["id"] for paper in yaml.safe_load(manifest.read_text(encoding="utf-8"))]
    if unknown := set(args.papers or ()) - set(known):
        parser.error(f"no such paper: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    args.papers = [paper for paper in known if paper in (args.papers or set(known) - set(LEFT_OUT))]
    return args


def upstream(copy: Path, args: argparse.Namespace) -> Run:
    """The seconds are those of `test_all` alone, without the harness's own imports."""
    shutil.rmtree(copy / ".cache", ignore_errors=True)
    report = copy / "report.json"
    ended = watched(
        [str(args.python), "-c", HARNESS, str(report), args.answers, *args.papers],
        copy,
        {**os.environ, "PATH": f"{args.python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
    )
    if ended.status or not report.is_file():
        sys.exit(f"upstream's harness ended with status {ended.status}:\n{ended.output}")
    found = json.loads(report.read_text(encoding="utf-8"))
    verdicts = {(paper, snippet): "solved" if passed else "unsolved" for paper, snippet, passed in found["verdicts"]}
    return Run(found["seconds"], ended.mib, verdicts)


def project(args: argparse.Namespace, here: Path, out: str, agent: str, *selection: str) -> Run:
    """Shows the end of pytest's output where a challenge is an error. Raises `SystemExit` where none has a record."""
    ended = watched(
        pytest_command(
            str(args.clone / "pset"), f"--recode-agent={agent}", "--recode-sandbox=bubblewrap",
            f"--recode-python={args.python}", f"--recode-out={here / out}", *selection,
        ),
        here,
        os.environ,
    )  # fmt: skip
    results = here / out / "results.jsonl"
    lines = results.read_text(encoding="utf-8").splitlines() if results.is_file() else []
    records = [json.loads(line) for line in lines]
    verdicts = {(each["facts"]["paper"], each["facts"]["snippet"]): each["outcome"] for each in records}
    if ended.status not in (0, 1) or not verdicts or "error" in verdicts.values():
        print(f"pytest ended with status {ended.status} and {len(verdicts)} records:\n{ended.output}", flush=True)
    if not verdicts:
        sys.exit(1)
    return Run(ended.seconds, ended.mib, verdicts)


def agree(upstream_run: Run, own: Run) -> bool:
    pairs = {
        key: (upstream_run.verdicts.get(key, "not run"), own.verdicts.get(key, "not run"))
        for key in sorted(upstream_run.verdicts.keys() | own.verdicts.keys())
    }
    apart = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    solved = sum(pair == ("solved", "solved") for pair in pairs.values())
    print(f"{len(pairs)} challenges: {solved} solved for both, verdicts differ on {len(apart)}")
    for (paper, snippet), (there, here) in apart.items():
        print(f"  {paper}/{snippet}: {there} upstream, {here} here")
    return not apart


def cold(args: argparse.Namespace, here: Path, copy: Path) -> None:
    """A session of one challenge with no judge waiting, beside the seconds its script takes to import what it imports."""
    over = []
    for number in range(3):
        run = project(args, here, f"one{number}", "reference", "-k", args.one)
        if len(run.verdicts) != 1:
            sys.exit(f"--one={args.one!r} selects {len(run.verdicts)} challenges; give an expression that selects one")
        [(paper, snippet)] = run.verdicts
        done = subprocess.run([args.python, "-c", IMPORTS], cwd=copy / "pset" / paper, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"importing the tests of {paper} ended with status {done.returncode}:\n{done.stderr}")
        imports = float(done.stdout.split()[-1])
        over.append(run.seconds - imports)
        print(f"{paper}/{snippet} alone, cold: {run.seconds:.2f} s, its imports {imports:.2f} s")
    print(f"over its imports {statistics.median(over):.2f} s (goal: {GOALS['cold']})")


class Ended(NamedTuple):
    seconds: float
    mib: float
    """Peak of what the command and all its descendants hold."""
    status: int
    output: str
    """The last 8,000 bytes."""


def watched(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Ended:
    peak = 0
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        with subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process:
            pause = PERIOD
            while True:
                try:
                    process.wait(pause)
                    break
                except subprocess.TimeoutExpired:
                    before = time.thread_time()
                    peak = max(peak, resident(process.pid))
                    # large processes take milliseconds to look through: what is measured shall not feel it
                    pause = max(PERIOD, 20 * (time.thread_time() - before))
        seconds = time.perf_counter() - start
        output.seek(max(0, output.seek(0, os.SEEK_END) - 8000))
        return Ended(seconds, peak / 1024, process.returncode, output.read().decode(errors="replace"))


def resident(root: int) -> int:
    """KiB of a process and its descendants: the sum of Pss, in which a page that n processes share counts for each as 1/n."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended in the meantime
        children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    total, todo = 0, [root]
    while todo:
        pid = todo.pop()
        todo += children.get(pid, ())
        try:
            rollup = Path("/proc", str(pid), "smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # ended, or a setuid bwrap, which may not be looked at and is small; what it starts may be
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total


def show(name: str, run: Run) -> None:
    print(f"{name:<28} {run.seconds:8.2f} s  {run.mib:7.0f} MiB at most", flush=True)


if __name__ == "__main__":
    main()

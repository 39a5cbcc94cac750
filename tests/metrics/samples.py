"""Records and published results to measure, as the files hold them."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")


def figures() -> dict[str, tuple[str, str]]:
    """Model -> Scaled Pass@1 and Pass@1, read off the bars of the two figures on the benchmark's site, not from its results file."""
    with (DATA / "published_scores.csv").open() as file:
        return {row["model"]: (row["scaled"], row["plain"]) for row in csv.DictReader(file)}


def stats() -> dict[str, Any]:
    """The published overall_stats.json, as far as a report reads it."""
    compact = json.loads((DATA / "researchcodebench.json").read_text())
    results: dict[str, Any] = {
        paper: {"paper_metadata": {"id": paper, **facts["dates"]}, "results": {}}
        for paper, facts in compact["papers"].items()
    }
    for model in compact["models"]:
        passed = iter(model["passed"])
        for paper, facts in compact["papers"].items():
            results[paper]["results"][model["key"]] = {
                "results": {
                    name: [
                        {
                            "snippet_code_line_count": lines,
                            "completion_idx": 0,
                            "passed": (good := next(passed) == "1"),
                            "exit_code": 0 if good else 1,
                        }
                    ]
                    for name, lines in facts["lines"].items()
                }
            }
    configs = {
        model["key"]: {"llm_cfg": {"pretty_name": model["name"], "knowledge_cutoff_date": model["cutoff"]}}
        for model in compact["models"]
    }
    return {"results": results, "overall_scores": configs}


AUDIT = {
    "reference_run": 9,
    "reference_share": 0.25,
    "tests_run": 0,
    "tests_share": 0.0,
    "cut": 2,
    "encoded": 1,
}


def turn(number: int, passed: int, total: int = 4, *, level: str | None = None, **more: Any) -> dict[str, Any]:
    failure = {"kind": "mismatch", "exception": None, **more.pop("failure", {})}
    return {
        "turn": number,
        "level": level,
        "feedback": None,
        "passed": passed,
        "failed": total - passed,
        "total": total,
        "cases": [
            {
                "id": f"t::{place}",
                "interface": "m.f",
                "outcome": "passed" if place < passed else "failed",
                **({"kind": "", "exception": None} if place < passed else failure),
            }
            for place in range(total)
        ],
        "tampering": [],
        "seed": 1,
        "reindented": False,
        "shared": None,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": 0.0},
        "seconds": 0.1,
        **more,
    }


def sorted_turn(number: int, categories: Sequence[str], *, source: str = "model") -> dict[str, Any]:
    """A turn that began with feedback whose items have these categories."""
    items = [{"interface": f"m.f{place}", "category": category} for place, category in enumerate(categories)]
    return turn(
        number,
        1,
        level="L2",
        feedback={"source": source, "model": None, "prompt": None, "audit": AUDIT, "items": items},
    )


def record(task: str = "t", passed: Sequence[int] = (4,), *, total: int = 4, **more: Any) -> dict[str, Any]:
    """A line of results.jsonl: an episode whose turns passed so many cases; `outcome` follows unless it is given."""
    levels = more.pop("levels", ([None] + ["L0"] * len(passed))[: len(passed)])
    turns = more.pop(
        "turns",
        [turn(n, k, total, level=level) for n, (k, level) in enumerate(zip(passed, levels, strict=True), 1)],
    )
    outcome = more.pop("outcome", "solved" if turns and turns[-1]["passed"] == turns[-1]["total"] else "unsolved")
    model, feedback, attempt = more.get("model", "m"), more.get("feedback", "L0"), more.get("attempt", 1)
    return {
        "schema": 1,
        "nodeid": f"{task}/task.yaml::episode[{model}-{feedback}-{attempt}-{more.get('paper', True)}]",
        "task": task,
        "format": "directory",
        "facts": {},
        "agent": "recode",
        "model": model,
        "simulated": False,
        "feedback": feedback,
        "feedback_model": None,
        "attempt": attempt,
        "paper": True,
        "paper_date": "",
        "cutoff": "",
        "settings": {
            "version": "0.1.0",
            "turns": 10,
            "steps": 10,
            "memory_threshold": None,
            "memory_keep": None,
            "search_model": None,
            "test_output": "none",
            "temperature": None,
            "test_seconds": None,
            "reindent": False,
            "api_base": None,
            "image": "",
            "feedback_from": "auto",
            "feedback_scope": "failing",
            "feedback_code": "L4",
            "researcher_prompt": "1",
        },
        "outcome": outcome,
        "stop": {"solved": "solved", "unsolved": "turns", "error": "error"}[outcome],
        "solved_turn": len(turns) if outcome == "solved" else None,
        "turns": turns,
        "usage": {"prompt_tokens": 90, "completion_tokens": 10, "cost_usd": 0.5},
        "seconds": 1.0,
        "ended": "2026-11-03T02:14:09+00:00",
        "sandbox": "bubblewrap",
        "isolation": "separate",
        "error": {"kind": "sandbox", "message": "died"} if outcome == "error" else None,
        "transcript": "episodes/x.jsonl",
        "digest": None,
        "replay": None,
        **more,
    }


def replay(of: Mapping[str, Any], number: int, passed: int, *, level: str = "L2", **more: Any) -> dict[str, Any]:
    """The record of a turn of an episode of the run "run", played anew with feedback of `level`, that passed so many cases."""
    really = of["turns"][number - 1]["level"]
    replayed = record(
        of["task"],
        feedback=level,
        turns=[*of["turns"][: number - 1], turn(number, passed, level=level)],
        replay={"run": "run", "nodeid": of["nodeid"], "turn": number, "level": really},
        **more,
    )
    return replayed | {"nodeid": f"{replayed['nodeid']}-turn{number}"}


def shared(of: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The record of an episode that has its first turn from another."""
    sharing = record(of["task"], (1, 4), **more)
    sharing["turns"][0] |= {
        "shared": of["nodeid"],
        "usage": {"prompt_tokens": 30, "completion_tokens": 10, "cost_usd": 0.2},
    }
    return sharing


def snippet(of: str, name: str, lines: int, *, solved: bool, **more: Any) -> dict[str, Any]:
    """The record of one completion for a snippet of ResearchCodeBench."""
    dates: Mapping[str, str] = more.pop("dates", {})
    return record(
        f"{of}/{name}",
        (4,) if solved else (1,),
        **{
            "format": "researchcodebench",
            "facts": {"paper": of, "snippet": name, "lines": lines, "nested": False, **dates},
            "feedback": "none",
            "agent": "one-shot",
            "isolation": "shared",
            **more,
        },
    )


def turn_line(played: Mapping[str, Any], targets: Mapping[str, str]) -> dict[str, Any]:
    return {"event": "turn", "time": 1.0, "shared": None, **played, "targets": dict(targets)}


def feedback_line(number: int, level: str, items: Sequence[Mapping[str, Any]], text: str = "") -> dict[str, Any]:
    return {
        "event": "feedback",
        "time": 1.0,
        "turn": number,
        "level": level,
        "source": "task",
        "model": "",
        "prompt": "",
        "audit": AUDIT,
        "text": text,
        "items": list(items),
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0},
    }


def transcript(path: Path, turns: Sequence[Mapping[str, str]]) -> Path:
    """Of an episode whose turns ended with these targets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [turn_line(turn(number, 1), targets) for number, targets in enumerate(turns, 1)]
    path.write_text("".join(json.dumps(event) + "\n" for event in [{"event": "episode", "time": 0}, *events]))
    return path


def run(directory: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return directory


def own_run(name: str, key: str, **more: Any) -> list[dict[str, Any]]:
    """Records as a run would leave that passes what the published model `key` passes."""
    published = stats()
    return [
        snippet(
            paper,
            one,
            completions[0]["snippet_code_line_count"],
            solved=completions[0]["passed"],
            model=name,
            dates={key: value for key, value in facts["paper_metadata"].items() if key.endswith("_date")},
            **more,
        )
        for paper, facts in published["results"].items()
        for one, completions in facts["results"][key]["results"].items()
    ]

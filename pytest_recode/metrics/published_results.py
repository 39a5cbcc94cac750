"""Check the overall_stats.json that ResearchCodeBench publishes, and convert it to Attempts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, Row, Snippet, iso_dates
from pytest_recode.records.results import parse_json
from pytest_recode.records.setup_record import DateFacts
from pytest_recode.schema.rules import Cutoff, Name, Number
from pytest_recode.schema.stored_forms import check_of

# The published file has one paper's last commit as its first; papers.yaml, from two days later, has both dates.
_MIXED_UP = {"minp": {"first_commit_date": "2025-03-15"}}
_PAPERS_YAML = {"minp": {"first_commit_date": "2024-11-13", "last_commit_date": "2025-03-15"}}


class _Completion(TypedDict):
    snippet_code_line_count: Number
    passed: bool


class _OfModel(TypedDict):
    results: dict[str, list[_Completion]]  # by snippet


class _OfPaper(TypedDict):
    paper_metadata: DateFacts
    results: dict[str, _OfModel]


class _Config(TypedDict):
    pretty_name: Name
    knowledge_cutoff_date: NotRequired[Cutoff | None]


class _Scores(TypedDict):
    llm_cfg: _Config


class _Stats(TypedDict):
    results: dict[str, _OfPaper]
    overall_scores: dict[str, _Scores]  # by model


def fault(data: bytes, stats: Mapping[str, Any]) -> str:
    """Describe the first invalid key and its valid values; "" if all are valid. `stats` is the parsed `data`."""
    try:
        parse_json(data, object_pairs_hook=_once)
    except UserError as error:
        return str(error)
    return _fault(stats)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate keys, of which Python would use the last."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        raise UserError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return fields


def _fault(stats: Mapping[str, Any]) -> str:
    """Check the values against `_Stats`, and the models of the results against those with scores."""
    problem = check_of(_Stats)(stats)
    if not problem:
        named = stats["overall_scores"]
        for paper, results in stats["results"].items():
            if unknown := [key for key in results["results"] if key not in named]:
                return f"results.{paper}.results.{unknown[0]}: overall_scores has no such model"
    return problem.lstrip(".: ")


def from_published(stats: Mapping[str, Any], source: str = "published", *, paper: bool = True) -> tuple[Attempt, ...]:
    """Convert the overall_stats.json of ResearchCodeBench: paper -> model -> snippet -> completions. Its sums are ignored.

    `paper`: whether the prompts had the paper, which the file does not say. Models with the same name are distinguished by key.
    """
    configs = {key: scores["llm_cfg"] for key, scores in stats["overall_scores"].items()}
    names = [config["pretty_name"] for config in configs.values()]
    attempts = []
    for folder, entry in stats["results"].items():
        dates = iso_dates(entry["paper_metadata"])
        if dates.items() >= _MIXED_UP.get(folder, {"": ""}).items() and "last_commit_date" not in dates:
            dates |= _PAPERS_YAML[folder]
        for key, results in entry["results"].items():
            name = configs[key]["pretty_name"]
            row = Row(
                source=source,
                published=True,
                model=name if names.count(name) == 1 else f"{name} [{key}]",
                agent="one-shot",
                feedback="none",
                paper=paper,
                format="researchcodebench",
                settings=(("temperature", "0"), ("turns", "1")),
            )
            for snippet, completions in results["results"].items():
                for number, one in enumerate(completions, 1):
                    attempts.append(
                        Attempt(
                            row=row,
                            task=f"{folder}/{snippet}",
                            number=number,
                            outcome="solved" if one["passed"] else "unsolved",
                            solved_turn=1 if one["passed"] else None,
                            snippet=Snippet(
                                paper=folder, name=snippet, lines=one["snippet_code_line_count"], dates=dates
                            ),
                            cutoff=configs[key].get("knowledge_cutoff_date") or "",
                            isolation="shared",
                        )
                    )
    return tuple(attempts)

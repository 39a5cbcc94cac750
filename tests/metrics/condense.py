"""The facts of ResearchCodeBench's overall_stats.json that its published numbers are made of, and nothing else of it.

python -m tests.metrics.condense …/overall_stats.json > tests/metrics/data/researchcodebench.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_recode.metrics.attempt import DATES

ABOUT = (
    "ResearchCodeBench (arXiv 2506.02314): what its authors published of 32 models, greedy, one completion each;"
    " `passed` has a digit per snippet, in the order of `papers`"
)


def condense(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Dates and code lines by paper, and of each model its name, its cutoff and which snippets it passes."""
    models = list(stats["overall_scores"])
    papers = {
        paper: {
            "dates": {key: entry["paper_metadata"][key] for key in DATES if entry["paper_metadata"].get(key)},
            "lines": {
                name: completion["snippet_code_line_count"]
                for name, [completion] in entry["results"][models[0]]["results"].items()
            },
        }
        for paper, entry in stats["results"].items()
    }
    return {
        "about": ABOUT,
        "papers": papers,
        "models": [
            {
                "key": model,
                "name": stats["overall_scores"][model]["llm_cfg"]["pretty_name"],
                "cutoff": stats["overall_scores"][model]["llm_cfg"].get("knowledge_cutoff_date"),
                "passed": "".join(
                    str(int(completion["passed"]))
                    for paper, facts in papers.items()
                    for name in facts["lines"]
                    for completion in stats["results"][paper]["results"][model]["results"][name]
                ),
            }
            for model in models
        ],
    }


if __name__ == "__main__":
    print(json.dumps(condense(json.loads(Path(sys.argv[1]).read_text())), indent=1))

"""Answers of a model researcher on the scene's `stats.mean` and `stats.deviation`, as ten families of models write them."""

from __future__ import annotations

import json
from typing import Any

MEAN_CODE = (
    "def mean(values, weights=None):\n    weights = weights or [1.0] * len(values)\n"
    "    return sum(v * w for v, w in zip(values, weights)) / sum(weights)\n"
)
DEVIATION_CODE = (
    "import math\n\n\ndef deviation(values, *, ddof=1):\n    middle = sum(values) / len(values)\n"
    "    return math.sqrt(sum((v - middle) ** 2 for v in values) / (len(values) - ddof))\n"
)
MEAN: dict[str, Any] = {
    "interface": "stats.mean",
    "category": "T2",
    "description": "The returned average ignores how much each observation counts.",
    "analysis": "The candidate divides by the number of observations. The instruction asks for a weighted mean, so heavy observations must count more.",
    "suggestion": "Multiply each observation with its weight, add these up, and divide by the sum of the weights.",
    "correction": MEAN_CODE,
    "caused_by": "",
}
DEVIATION: dict[str, Any] = {
    "interface": "stats.deviation",
    "category": "T3",
    "description": "The spread is too small for small samples.",
    "analysis": "The divisor is the number of values, where `ddof` must be subtracted from it first.",
    "suggestion": "Subtract `ddof` from the number of values before you divide, then take the square root.",
    "correction": DEVIATION_CODE,
    "caused_by": "",
}


def of(*records: object, **style: Any) -> str:
    return json.dumps({"feedbacks": records}, **style)


def fenced(text: str, info: str = "json") -> str:
    return f"```{info}\n{text}\n```"


BOTH = of(MEAN, DEVIATION, indent=2)
SHORT = of(MEAN, DEVIATION)
_RENAMED = {"interface": "function", "category": "error_type", "correction": "code"}


def _renamed(record: dict[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(name, name): value for name, value in record.items()}


def _without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _in_lines(code: str) -> str:
    """A JSON string with real line breaks, as models write code into JSON by hand."""
    return '"' + code.replace('"', '\\"') + '"'


RAW_LINES = BOTH.replace(json.dumps(MEAN_CODE), _in_lines(MEAN_CODE)).replace(
    json.dumps(DEVIATION_CODE), _in_lines(DEVIATION_CODE)
)
TRAILING = BOTH.replace('"caused_by": ""\n', '"caused_by": "",\n').replace("}\n  ]", "},\n  ]")

ANSWERS: dict[str, str] = {
    # GPT and o-series: a schema is enforced
    "gpt: plain": BOTH,
    "gpt: on one line": SHORT,
    "gpt: one interface is the cause of the other": of(
        MEAN, {**DEVIATION, "suggestion": "", "correction": "", "caused_by": "stats.mean"}
    ),
    # Claude
    "claude: fenced": fenced(BOTH),
    "claude: prose before the fence": f"I compared the attempt with my implementation. Here is my feedback:\n\n{fenced(BOTH)}",
    "claude: prose around": f"Looking at the candidate, two interfaces fail.\n\n{BOTH}\n\nBoth faults are independent of each other.",
    "claude: two records of one interface": of(
        MEAN, {**MEAN, "description": "Without weights it fails.", "correction": ""}, DEVIATION
    ),
    # Gemini
    "gemini: fenced, one line": fenced(SHORT),
    "gemini: the list alone": fenced(json.dumps([MEAN, DEVIATION], indent=2)),
    "gemini: code fenced within the field": fenced(
        of(
            {**MEAN, "correction": fenced(MEAN_CODE, "python")},
            {**DEVIATION, "correction": fenced(DEVIATION_CODE, "python")},
        )
    ),
    # DeepSeek
    "deepseek: JSON mode": SHORT,
    "deepseek: category in words": of({**MEAN, "category": "T2 alignment"}, {**DEVIATION, "category": "T3 knowledge"}),
    "deepseek: null for nothing": of(
        MEAN, {**DEVIATION, "suggestion": None, "correction": None, "caused_by": "stats.mean"}
    ),
    # Qwen
    "qwen: trailing commas": TRAILING,
    "qwen: fence without a language": fenced(BOTH, ""),
    "qwen: short names of interfaces": of({**MEAN, "interface": "mean"}, {**DEVIATION, "interface": "deviation()"}),
    # Llama
    "llama: announced, not fenced": f"Here is the JSON object:\n\n{BOTH}",
    "llama: a single record for each, one after the other": f"{json.dumps(MEAN, indent=2)}\n\n{json.dumps(DEVIATION, indent=2)}",
    "llama: real line breaks within strings": RAW_LINES,
    "llama: only the first interface": of(MEAN),
    # Mistral
    "mistral: comments": BOTH.replace('"T2",', '"T2", // alignment'),
    "mistral: no caused_by": of(_without(MEAN, "caused_by"), _without(DEVIATION, "caused_by")),
    "mistral: code as a list of lines": of(
        {**MEAN, "correction": MEAN_CODE.splitlines()}, {**DEVIATION, "correction": DEVIATION_CODE.splitlines()}
    ),
    # Phi and other small models
    "phi: Python's literals": str({"feedbacks": [MEAN, DEVIATION]}),
    "phi: other names of fields": of(_renamed(MEAN), _renamed(DEVIATION)),
    "phi: cut off in the second record": BOTH[: BOTH.index("Subtract `ddof`") + 20],
    "phi: LaTeX with single backslashes": BOTH.replace(
        "add these up, and divide by the sum of the weights.", "so that the result is $\\sum w x / \\sum w$."
    ),
    # Command R, GLM
    "command: the interfaces are the keys": json.dumps(
        {"feedbacks": {"stats.mean": _without(MEAN, "interface"), "stats.deviation": _without(DEVIATION, "interface")}}
    ),
    "glm: draft first, final answer last": f"Draft:\n{fenced(of(MEAN))}\n\nFinal answer:\n{fenced(BOTH)}",
    "glm: code fence and JSON": f"The right function:\n\n{fenced(MEAN_CODE, 'python')}\n\n{fenced(BOTH)}",
    # all of them, now and then
    "any: a list of Markdown in place of JSON": "**stats.mean** (T2)\n- description: The average ignores the weights.\n- suggestion: Divide by their sum.\n",
    "any: refusal": "I'm sorry, but I can't share details of the reference implementation.",
}

"""The text protocol: whatever is rendered is read back, and damaged answers are told what was wrong."""

from __future__ import annotations

import random

import pytest

from pytest_recode.agents.protocol import FORMS, Action, Step, parse, render

NASTY = [
    "", " ", "\t", "try:", "else:", "action:", "Action: submit", "### Action: submit", "### Action", "## Observation",
    "**Action:** read", "**Planning**", "### Planning <<END_OF_TEXT", "END_OF_TEXT", "END_OF_TEXT_2", " END_OF_TEXT ",
    "text <<END_OF_TEXT", "old <<X", "path: a.py", "```", "```python", "~~~", "<think>", "</think>", "@action", "word:",
    "EOF", "\x0b", "\x0c", "a\rb", "x\r", "\u2028", "\u0085", "\x00", "\udc80", "é ß 漢字", "<<END",
    "reflect: [action]",
    "    return np.exp(-cost / epsilon)", "# Action: submit", "'''", '"""', "li\u017ft",
    "Observation:", "- path: x", "submit",
]  # fmt: skip


def nasty(rng: random.Random, lines: int) -> str:
    return "\n".join(rng.choice(NASTY) for _ in range(rng.randrange(lines)))


def a_step(rng: random.Random) -> Step:
    actions = []
    for _ in range(rng.randrange(1, 5)):
        kind = rng.choice(list(FORMS))
        arguments = {}
        for name in FORMS[kind].takes:
            if name in FORMS[kind].optional and rng.random() < 0.5:
                continue
            value = nasty(rng, 6)
            if name not in ("text", "new"):
                value = "x" + value if not value.strip() else value
            arguments[name] = value
        actions.append(Action(kind=kind, arguments=arguments))
    parts = {name: nasty(rng, 6) for name in ("observation", "reflection", "planning")}
    return Step(**parts, actions=tuple(actions))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_rendered_is_read_back(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        step = a_step(rng)
        assert parse(render(step)) == step, render(step)

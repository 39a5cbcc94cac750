"""The driver: greedy decoding within a language and a budget."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .automaton import UNREACHABLE, TokenAutomaton
from .tokens import allowed
from .vocabulary import Vocabulary


def decode(
    logits: Callable[[int], np.ndarray], automaton: TokenAutomaton, vocabulary: Vocabulary, budget: int
) -> list[int]:
    """At most `budget` tokens, the last of which is `eos`. `logits(step)` scores the tokens of a step.

    Raises ValueError if no text of the language fits into the budget.
    """
    if automaton.remaining[automaton.start] == UNREACHABLE or automaton.remaining[automaton.start] > budget:
        raise ValueError(f"no text of the language has at most {budget} tokens")
    state, tokens = automaton.start, []
    while not tokens or tokens[-1] != vocabulary.eos:
        mask = allowed(automaton, state, budget - len(tokens))
        tokens.append(int(np.argmax(np.where(mask, logits(len(tokens)), -np.inf))))
        state = int(automaton.edges[state, tokens[-1]])
    return tokens


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

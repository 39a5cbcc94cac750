"""Automata over tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .dfa import DFA
from .vocabulary import Vocabulary

UNREACHABLE = -1  # the number of tokens from a state without a way to the end


@dataclass(frozen=True, eq=False)
class TokenAutomaton:
    """A character automaton of S states, composed with a vocabulary of V tokens.

    Its states are those of the character automaton and one more, number S: the end, after the token `eos`.

    edges: `(S + 1, V)` int64, the state after a token, or `NONE`.
    remaining: `(S + 1,)` int64, the least number of tokens to the end, `eos` included, or `UNREACHABLE`.
    start: the first state.
    """

    edges: np.ndarray
    remaining: np.ndarray
    start: int


def build(dfa: DFA, vocabulary: Vocabulary) -> TokenAutomaton:
    """Compose an automaton with a vocabulary."""
    from .tokens import token_edges, tokens_to_end

    edges = token_edges(dfa, vocabulary)
    return TokenAutomaton(edges, tokens_to_end(edges), dfa.start)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

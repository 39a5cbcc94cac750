"""Token-level automata (Koo et al., 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .automaton import UNREACHABLE, TokenAutomaton
from .dfa import DFA, NONE
from .vocabulary import Vocabulary


def token_edges(dfa: DFA, vocabulary: Vocabulary) -> np.ndarray:
    """The state after each token in each state: `(S + 1, V)` int64, `NONE` where there is none."""
    raise NotImplementedError


def tokens_to_end(edges: np.ndarray) -> np.ndarray:
    """The least number of tokens from each state to the last one: `(S + 1,)` int64, or `UNREACHABLE`."""
    raise NotImplementedError


def allowed(automaton: TokenAutomaton, states: np.ndarray | int, budgets: np.ndarray | int | None = None) -> np.ndarray:
    """Which tokens may come next in each of the states: `(..., V)` bool."""
    raise NotImplementedError


def tokenizations(automaton: TokenAutomaton, vocabulary: Vocabulary, text: str) -> int:
    """The number of token sequences that spell a text and that the automaton accepts."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""Token-level automata (Koo et al., 2024)."""

from __future__ import annotations

import numpy as np

from .automaton import UNREACHABLE, TokenAutomaton
from .dfa import DFA, NONE
from .vocabulary import Vocabulary


def token_edges(dfa: DFA, vocabulary: Vocabulary) -> np.ndarray:
    """The state after each token in each state: `(S + 1, V)` int64, `NONE` where there is none."""
    edges = np.full((dfa.size + 1, len(vocabulary.tokens)), NONE, dtype=np.int64)
    for token, text in enumerate(vocabulary.tokens):
        if token == vocabulary.eos:
            edges[list(dfa.accepting), token] = dfa.size
        elif text:
            for first in range(dfa.size):
                state = first
                for character in text:
                    state = dfa.step(state, character)
                    if state == NONE:
                        break
                edges[first, token] = state
    return edges


def tokens_to_end(edges: np.ndarray) -> np.ndarray:
    """The least number of tokens from each state to the last one: `(S + 1,)` int64, or `UNREACHABLE`."""
    remaining = np.full(len(edges), UNREACHABLE, dtype=np.int64)
    remaining[-1] = 0
    count, reached = 0, np.array([len(edges) - 1])
    while reached.size:
        count += 1
        reached = np.flatnonzero(np.isin(edges, reached).any(axis=1) & (remaining == UNREACHABLE))
        remaining[reached] = count
    return remaining


def allowed(automaton: TokenAutomaton, states: np.ndarray | int, budgets: np.ndarray | int | None = None) -> np.ndarray:
    """Which tokens may come next in each of the states: `(..., V)` bool."""
    states = np.asarray(states, dtype=np.int64)
    if np.any((states < 0) | (states >= len(automaton.edges))):
        raise ValueError(f"states must be in 0..{len(automaton.edges) - 1}")
    targets = automaton.edges[states]
    after = automaton.remaining[targets]
    mask = (targets != NONE) & (after != UNREACHABLE)
    if budgets is not None:
        mask &= after < np.broadcast_to(budgets, states.shape)[..., None]
    return mask


def tokenizations(automaton: TokenAutomaton, vocabulary: Vocabulary, text: str) -> int:
    """The number of token sequences that spell a text and that the automaton accepts."""
    ways, states = [1] + [0] * len(text), [automaton.start] + [NONE] * len(text)
    # A place that no token ends at has the state NONE, which as an index is the end: no edges.
    for place in range(len(text)):
        targets = automaton.edges[states[place]]
        for token in np.flatnonzero(targets != NONE):
            piece = vocabulary.tokens[token]
            if token != vocabulary.eos and text.startswith(piece, place):
                ways[place + len(piece)] += ways[place]
                states[place + len(piece)] = targets[token]
    return ways[-1] if automaton.edges[states[-1], vocabulary.eos] != NONE else 0


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""Token-level automata (Koo et al., 2024)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from .automaton import UNREACHABLE, TokenAutomaton
from .dfa import DFA, NONE
from .vocabulary import Vocabulary


def token_edges(dfa: DFA, vocabulary: Vocabulary) -> np.ndarray:
    """The state after each token in each state: `(S + 1, V)` int64, `NONE` where there is none."""
    edges = np.full((dfa.size + 1, len(vocabulary.tokens)), NONE, dtype=np.int64)
    for token, text in enumerate(vocabulary.tokens):
        if token == vocabulary.eos or not text:
            continue
        for start in range(dfa.size):
            state = start
            for character in text:
                state = dfa.step(state, character)
                if state == NONE:
                    break
            edges[start, token] = state
    for state in dfa.accepting:
        edges[state, vocabulary.eos] = dfa.size
    return edges


def tokens_to_end(edges: np.ndarray) -> np.ndarray:
    """The least number of tokens from each state to the last one: `(S + 1,)` int64, or `UNREACHABLE`."""
    edges = np.asarray(edges, dtype=np.int64)
    sources = defaultdict(set)
    for state, row in enumerate(edges):
        for target in np.unique(row):
            if target != NONE:
                sources[int(target)].add(state)
    remaining = np.full(len(edges), UNREACHABLE, dtype=np.int64)
    remaining[-1] = 0
    front, distance = [len(edges) - 1], 0
    while front:
        distance += 1
        found = {source for state in front for source in sources[state] if remaining[source] == UNREACHABLE}
        front = sorted(found)
        remaining[front] = distance
    return remaining


def allowed(automaton: TokenAutomaton, states: np.ndarray | int, budgets: np.ndarray | int | None = None) -> np.ndarray:
    """Which tokens may come next in each of the states: `(..., V)` bool."""
    edges, remaining = np.asarray(automaton.edges), np.asarray(automaton.remaining)
    states, end = np.asarray(states), len(edges) - 1
    if np.any(states < 0) or np.any(states > end):
        raise ValueError(f"states must be in 0 .. {end}")
    states = states.astype(np.int64)
    targets = edges[states]
    left = remaining[targets]  # meaningless where there is no target
    mask = (targets != NONE) & (left != UNREACHABLE) & (states != end)[..., None]
    if budgets is not None:
        mask &= left < np.broadcast_to(budgets, states.shape)[..., None]
    return mask


def tokenizations(automaton: TokenAutomaton, vocabulary: Vocabulary, text: str) -> int:
    """The number of token sequences that spell a text and that the automaton accepts."""
    spelled = defaultdict(list)
    for token, part in enumerate(vocabulary.tokens):
        if token != vocabulary.eos and part:
            spelled[part].append(token)
    sizes = sorted({len(part) for part in spelled})

    counts = [0] * (len(text) + 1)  # of the sequences that spell the text up to a position
    states = [NONE] * (len(text) + 1)  # the state there, which is that of the text
    counts[0], states[0] = 1, int(automaton.start)
    for position in range(len(text)):
        if not counts[position]:
            continue
        for size in sizes:
            if position + size > len(text):
                break
            for token in spelled.get(text[position : position + size], ()):
                target = int(automaton.edges[states[position], token])
                if target != NONE:
                    counts[position + size] += counts[position]
                    states[position + size] = target
    if not counts[-1] or automaton.edges[states[-1], vocabulary.eos] == NONE:
        return 0
    return counts[-1]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

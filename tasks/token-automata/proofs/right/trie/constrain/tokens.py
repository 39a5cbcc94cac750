"""Token-level automata: a prefix tree of the vocabulary, and matrices for the rest."""

from __future__ import annotations

import numpy as np

from .automaton import UNREACHABLE, TokenAutomaton
from .dfa import DFA, NONE
from .vocabulary import Vocabulary


def token_edges(dfa: DFA, vocabulary: Vocabulary) -> np.ndarray:
    tree: dict = {"children": {}, "tokens": []}
    for token, text in enumerate(vocabulary.tokens):
        node = tree
        for character in text:
            node = node["children"].setdefault(character, {"children": {}, "tokens": []})
        if token != vocabulary.eos and node is not tree:
            node["tokens"].append(token)
    edges = np.zeros((dfa.size + 1, len(vocabulary.tokens)), dtype=np.int64) + NONE
    for first in range(dfa.size):
        stack = [(first, tree)]
        while stack:
            state, node = stack.pop()
            edges[first, node["tokens"]] = state
            for character, child in node["children"].items():
                following = dfa.step(state, character)
                if following != NONE:
                    stack.append((following, child))
        if first in dfa.accepting:
            edges[first, vocabulary.eos] = dfa.size
    return edges


def tokens_to_end(edges: np.ndarray) -> np.ndarray:
    edges = np.array(edges, dtype=np.int64)
    far = len(edges) + 1
    length = np.full(len(edges) + 1, far)  # the last entry stands for NONE
    length[-2] = 0
    while True:
        shorter = np.minimum(length[:-1], length[edges].min(axis=1) + 1)
        if np.array_equal(shorter, length[:-1]):
            return np.where(shorter < far, shorter, UNREACHABLE).astype(np.int64)
        length[:-1] = shorter


def allowed(
    automaton: TokenAutomaton, states: np.ndarray | int, budgets: np.ndarray | int | None = None
) -> np.ndarray:
    states = np.asarray(states)
    if states.size and not (states.min() >= 0 and states.max() < len(automaton.edges)):
        raise ValueError("a state is out of range")
    never = np.iinfo(np.int64).max
    costs = np.append(np.where(automaton.remaining == UNREACHABLE, never, automaton.remaining), never)
    needed = costs[automaton.edges[states.astype(np.int64)]]
    if budgets is None:
        return needed < never
    return needed <= np.expand_dims(np.broadcast_to(np.asarray(budgets), states.shape) - 1, -1)


def tokenizations(automaton: TokenAutomaton, vocabulary: Vocabulary, text: str) -> int:
    pieces: dict[str, list[int]] = {}
    for token, piece in enumerate(vocabulary.tokens):
        if piece and token != vocabulary.eos:
            pieces.setdefault(piece, []).append(token)
    longest = max(map(len, pieces), default=0)
    table: list[dict[int, int]] = [{} for _ in range(len(text) + 1)]
    table[0][automaton.start] = 1
    for begin, row in enumerate(table):
        for state, count in row.items():
            for end in range(begin + 1, min(begin + longest, len(text)) + 1):
                for token in pieces.get(text[begin:end], ()):
                    target = int(automaton.edges[state, token])
                    if target != NONE:
                        table[end][target] = table[end].get(target, 0) + count
    return sum(count for state, count in table[-1].items() if automaton.edges[state, vocabulary.eos] != NONE)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

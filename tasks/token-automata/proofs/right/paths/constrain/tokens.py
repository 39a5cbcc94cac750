"""Token-level automata, by sets and recursion-free searches over lists."""

from __future__ import annotations

from collections import deque
from functools import reduce

import numpy as np

from .automaton import UNREACHABLE
from .dfa import NONE


def token_edges(dfa, vocabulary):
    def after(state, text):
        return reduce(lambda here, c: NONE if here == NONE else dfa.step(here, c), text, state)

    rows = []
    for state in range(dfa.size):
        row = [after(state, text) if text else NONE for text in vocabulary.tokens]
        row[vocabulary.eos] = dfa.size if state in dfa.accepting else NONE
        rows.append(row)
    rows.append([NONE] * len(vocabulary.tokens))
    return np.array(rows, dtype=np.int64)


def tokens_to_end(edges):
    rows = [[int(target) for target in row] for row in edges]
    before = [set() for _ in rows]
    for state, row in enumerate(rows):
        for target in row:
            if target != NONE:
                before[target].add(state)
    found = [UNREACHABLE] * len(rows)
    found[-1] = 0
    queue = deque([len(rows) - 1])
    while queue:
        state = queue.popleft()
        for each in before[state]:
            if found[each] == UNREACHABLE:
                found[each] = found[state] + 1
                queue.append(each)
    return np.array(found, dtype=np.int64)


def allowed(automaton, states, budgets=None):
    states = np.asarray(states, dtype=np.int64)
    size, tokens = automaton.edges.shape
    budgets = np.broadcast_to(np.inf if budgets is None else budgets, states.shape)
    mask = np.zeros((*states.shape, tokens), dtype=bool)
    for place in np.ndindex(states.shape):
        state = states[place]
        if not 0 <= state < size:
            raise ValueError(f"no state {state}")
        for token, target in enumerate(automaton.edges[state].tolist()):
            if target != NONE and automaton.remaining[target] != UNREACHABLE:
                mask[place][token] = automaton.remaining[target] + 1 <= budgets[place]
    return mask


def tokenizations(automaton, vocabulary, text):
    edges = automaton.edges.tolist()
    ways = {(0, automaton.start): 1}  # by characters read and state
    for place in range(len(text)):
        for (here, state), count in list(ways.items()):
            if here != place:
                continue
            for token, piece in enumerate(vocabulary.tokens):
                target = edges[state][token]
                if token == vocabulary.eos or target == NONE or not piece:
                    continue
                if text[place : place + len(piece)] == piece:
                    key = (place + len(piece), target)
                    ways[key] = ways.get(key, 0) + count
    return sum(
        count
        for (here, state), count in ways.items()
        if here == len(text) and edges[state][vocabulary.eos] != NONE
    )
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

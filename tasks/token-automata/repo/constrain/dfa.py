"""Automata over characters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NONE = -1  # no state


@dataclass(frozen=True)
class DFA:
    """A deterministic automaton over Unicode code points. Its states are 0 .. size - 1.

    edges: for each state, the next state by character.
    other: for each state, the next state for all characters that `edges` does not list, or `NONE`.
    start: the first state.
    accepting: the states in which a text may end.
    """

    edges: tuple[dict[str, int], ...]
    other: tuple[int, ...]
    start: int
    accepting: frozenset[int]

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.edges)

    def step(self, state: int, character: str) -> int:
        """The state after one code point, or `NONE`. `state` must be a state."""
        return self.edges[state].get(character, self.other[state])


def from_texts(texts: Iterable[str]) -> DFA:
    """An automaton that accepts these texts and no others."""
    edges: list[dict[str, int]] = [{}]
    accepting = set()
    for text in texts:
        state = 0
        for character in text:
            if character not in edges[state]:
                edges[state][character] = len(edges)
                edges.append({})
            state = edges[state][character]
        accepting.add(state)
    return DFA(tuple(edges), (NONE,) * len(edges), 0, frozenset(accepting))


def quoted(quote: str = '"', escape: str = "\\") -> DFA:
    """An automaton that accepts texts in quotation marks, in which an escape protects any character."""
    return DFA(({quote: 1}, {quote: 3, escape: 2}, {}, {}), (NONE, 1, 1, NONE), 0, frozenset({3}))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

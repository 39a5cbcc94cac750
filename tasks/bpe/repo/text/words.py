"""Text, words and symbols."""

from __future__ import annotations

from collections import Counter

END = "</w>"
"""The symbol that closes every word. It is one symbol, whatever it is spelled with."""


def words(text: str) -> list[str]:
    """Split at whitespace. No word is empty."""
    return text.split()


def count_words(text: str) -> dict[str, int]:
    """Return how often each word occurs, in order of first occurrence."""
    return dict(Counter(words(text)))


def symbols(word: str) -> list[str]:
    """Return the characters of a word, and END. Raises ValueError for an empty word."""
    if not word:
        raise ValueError("an empty word has no symbols")
    return [*word, END]


def join(parts: list[str]) -> str:
    """Return the text that a sequence of symbols spells, with one space between words and none at the end."""
    return "".join(parts).replace(END, " ").rstrip(" ")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""Vocabularies in files: a line with the largest width, then a line for each token of two bytes or more, in hexadecimal."""

from __future__ import annotations

from pathlib import Path

from .vocabulary import BYTES, Vocabulary


def save(path: Path, vocabulary: Vocabulary) -> None:
    """Write a vocabulary. The single bytes are not written, since every vocabulary has them."""
    tokens = [token.hex() for token in vocabulary.tokens[len(BYTES) :]]
    path.write_text("\n".join([str(vocabulary.max_width), *tokens]) + "\n", encoding="ascii")


def load(path: Path) -> Vocabulary:
    """Return the vocabulary of a file, with the ids that it had.

    Raises ValueError for a file that is no such list, and for what `Vocabulary.of` refuses.
    """
    lines = path.read_text(encoding="ascii").splitlines()
    if not lines:
        raise ValueError(f"{path} is empty")
    return Vocabulary.of([bytes.fromhex(line) for line in lines[1:]], int(lines[0]))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

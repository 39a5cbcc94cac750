"""A vocabulary for a collection of documents. `python -m pathpiece.train VOCABULARY TEXT ...` makes one for files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .construction import shrink
from .files import save
from .ngrams import frequent
from .pretokens import count_pieces
from .vocabulary import Vocabulary


def train(documents: Sequence[bytes], size: int, start: int, batch: int, spaces: str = "first") -> Vocabulary:
    """Return a vocabulary of `size` tokens, which is left of the bytes and the `start` most frequent n-grams."""
    corpus = count_pieces(documents, spaces)
    return shrink(corpus, frequent(corpus, start), size, batch)


def main() -> None:
    """Write the vocabulary to its file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("texts", type=Path, nargs="+")
    for name, default in (("size", 1024), ("start", 4096), ("batch", 256)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--spaces", default="first")
    given = parser.parse_args()
    documents = [path.read_bytes() for path in given.texts]
    save(given.vocabulary, train(documents, given.size, given.start, given.batch, given.spaces))


if __name__ == "__main__":
    main()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

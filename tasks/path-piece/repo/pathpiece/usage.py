"""How well a vocabulary fits a corpus. `python -m pathpiece.usage VOCABULARY TEXT ...` prints it for files."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from .construction import count_tokens
from .files import load
from .pretokens import count_pieces
from .vocabulary import BYTES, Vocabulary


@dataclass(frozen=True)
class Usage:
    """Numbers of a corpus that is segmented with the rule "longest"."""

    size: int  # of the corpus, in bytes
    tokens: int  # occurrences
    unused: int  # tokens of two bytes or more that do not occur

    @property
    def bytes_per_token(self) -> float:
        """Return the mean width of an occurrence; 0 for a corpus without bytes."""
        return self.size / self.tokens if self.tokens else 0.0


def usage(corpus: dict[bytes, int], vocabulary: Vocabulary) -> Usage:
    """Return the numbers for the pieces of a corpus. Raises ValueError for a negative count."""
    counts = count_tokens(corpus, vocabulary)
    return Usage(
        size=sum(times * len(piece) for piece, times in corpus.items()),
        tokens=int(counts.sum()),
        unused=int((counts[len(BYTES) :] == 0).sum()),
    )


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--spaces", default="first")
    given = parser.parse_args()
    found = usage(count_pieces((path.read_bytes() for path in given.texts), given.spaces), load(given.vocabulary))
    print(f"{found.tokens} tokens, {found.bytes_per_token:.3f} bytes per token, {found.unused} tokens are not used")


if __name__ == "__main__":
    main()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""The driver: a collection of texts that answers queries."""

from __future__ import annotations

from collections.abc import Sequence

from .bm25 import build, score, top
from .settings import Settings
from .vocabulary import Vocabulary


class Collection:
    """Texts, indexed for search."""

    def __init__(self, texts: Sequence[str], settings: Settings | None = None) -> None:
        self.vocabulary = Vocabulary(texts)
        documents = [self.vocabulary.terms(text) for text in texts]
        self.index = build(documents, len(self.vocabulary), settings or Settings())

    def search(self, query: str, k: int = 10) -> list[tuple[int, float]]:
        """The numbers and scores of the k best texts, the best first."""
        found, scores = top(score(self.index, self.vocabulary.terms(query)), k)
        return list(zip(found.tolist(), scores.tolist(), strict=True))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

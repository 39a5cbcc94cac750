"""What is kept of the documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Index:
    """A matrix of N documents (rows) and V terms (columns) in compressed sparse column form, and what was taken off its columns.

    data: `(E,)` float64, the stored scores, column by column.
    indices: `(E,)` int64, the document of each stored score; ascending within a column.
    indptr: `(V + 1,)` int64; column v is stored at `indptr[v] : indptr[v + 1]`.
    nonoccurrence: `(V,)` float64, what each term adds to the score of a document without it.
    documents: N.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    nonoccurrence: np.ndarray
    documents: int

    def column(self, term: int) -> tuple[np.ndarray, np.ndarray]:
        """The documents and the stored scores of a term 0 .. V - 1 (views)."""
        place = slice(self.indptr[term], self.indptr[term + 1])
        return self.indices[place], self.data[place]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

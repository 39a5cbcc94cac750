"""Token merging (Bolya et al., ICLR 2023)."""

from __future__ import annotations

import numpy as np

from .matching import Matching


def _similarities(metric: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Cosines (1) of two sets of positions; 0 where a vector is zero."""
    largest = np.abs(metric).max(axis=1, keepdims=True, initial=0.0)
    metric = np.ldexp(metric, -np.frexp(largest)[1])  # powers of two change no digits
    lengths = np.sqrt(np.sum(metric**2, axis=1))
    products = lengths[rows, None] * lengths[columns]
    dots = metric[rows] @ metric[columns].T
    return np.where(products > 0.0, dots / np.where(products > 0.0, products, 1.0), 0.0)


def match(metric: np.ndarray, r: int, protected: int = 1) -> Matching:
    """The r tokens that are merged, and into which others."""
    if r < 0:
        raise ValueError(f"r must not be negative, not {r}")
    metric = np.asarray(metric, dtype=np.float64)
    places = np.arange(len(metric), dtype=np.int64)
    r = min(r, max((len(metric) - protected) // 2, 0))
    if r == 0:
        empty = np.zeros(0, dtype=np.int64)
        return Matching(places, empty, empty.copy(), empty.copy())
    free = places[max(protected, 0) :]
    rows, columns = free[free % 2 == 0], free[free % 2 == 1]
    similarities = _similarities(metric, rows, columns)
    partners = np.argmax(similarities, axis=1)
    best = similarities[np.arange(len(rows)), partners]
    kept = np.sort(np.argsort(-best, kind="stable")[:r])
    sources = rows[kept]
    evens = places[::2]
    return Matching(evens[~np.isin(evens, sources)], places[1::2], sources, columns[partners[kept]])


def _rows(matching: Matching) -> np.ndarray:
    """The row after merging of each position before it, (T,)."""
    rows = np.zeros(matching.before, dtype=np.int64)
    rows[np.concatenate([matching.first, matching.second])] = np.arange(matching.after)
    rows[matching.sources] = rows[matching.destinations]
    return rows


def _check(array: np.ndarray, count: int) -> None:
    if array.ndim == 0 or len(array) != count:
        raise ValueError(f"{count} rows are expected, not the shape {array.shape}")


def merge(matching: Matching, x: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and sizes after merging, equation (2)."""
    x, size = np.asarray(x, dtype=np.float64), np.asarray(size, dtype=np.float64)
    _check(x, matching.before)
    if size.shape != (matching.before,):
        raise ValueError(f"sizes must be ({matching.before},), not {size.shape}")
    remaining = np.concatenate([matching.first, matching.second])
    tokens, sizes = x[remaining], size[remaining]
    into = _rows(matching)[matching.sources]
    changed = np.unique(into)
    sums = tokens * sizes[:, None]
    np.add.at(sums, into, x[matching.sources] * size[matching.sources, None])
    np.add.at(sizes, into, size[matching.sources])
    tokens[changed] = sums[changed] / sizes[changed, None]
    return tokens, sizes


def trace(matching: Matching, source: np.ndarray) -> np.ndarray:
    """The source matrix after merging."""
    source = np.asarray(source).astype(bool)
    _check(source, matching.before)
    result = source[np.concatenate([matching.first, matching.second])]
    np.logical_or.at(result, _rows(matching)[matching.sources], source[matching.sources])
    return result


def unmerge(matching: Matching, y: np.ndarray) -> np.ndarray:
    """A row for each token before merging."""
    y = np.asarray(y, dtype=np.float64)
    _check(y, matching.after)
    return y[_rows(matching)]


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Proportional attention, equation (3)."""
    queries, keys, values, size = (np.asarray(array, dtype=np.float64) for array in (queries, keys, values, size))
    logits = queries @ np.swapaxes(keys, -1, -2) / np.sqrt(queries.shape[-1]) + np.log(size)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

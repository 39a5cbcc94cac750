"""Power iteration with heavy-ball momentum."""

import numpy as np

from deflation import deflated


def optimal_momentum(second):
    if second < 0:
        raise ValueError("the magnitude of an eigenvalue is not negative")
    return second**2 / 4


def power_iteration(matrix, start, steps, momentum=0.0):
    matrix = np.asarray(matrix, dtype=float)
    now = np.asarray(start, dtype=float) / np.linalg.norm(start)
    before = np.zeros_like(now)
    for _ in range(steps):
        new = matrix @ now - momentum * before
        scale = np.linalg.norm(new)
        # Equation (2) is linear in the pair: both vectors get the same factor.
        before, now = now / scale, new / scale
    now = now * np.sign(now[np.argmax(np.abs(now))])
    return float(now @ matrix @ now), now


def leading_pairs(matrix, start, count, steps, momentum=0.0):
    values, vectors = [], []
    left = np.asarray(matrix, dtype=float)
    for _ in range(count):
        value, vector = power_iteration(left, start, steps, momentum)
        left = deflated(left, value, vector)
        values.append(value)
        vectors.append(vector)
    return np.array(values), np.stack(vectors, axis=1)

"""The command `python -m lowrank.compare`: what each method computes of the same matrix, and what it explains."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from .cholesky import accelerated, rpcholesky
from .data import clusters
from .kernels import Gaussian, Linear
from .matrices import KernelMatrix
from .results import Approximation
from .stream import Uniforms


@dataclass(frozen=True)
class Row:
    """One method."""

    method: str
    pivots: int
    rounds: int
    accepted: float  # share of the proposals; 1 if there were none
    entries: int  # computed of the matrix
    error: float  # share of the trace that is not explained; 0 for a matrix of zeros


def row(method: str, matrix: KernelMatrix, found: Approximation) -> Row:
    """What a method did that was called with this matrix, and with no other method before."""
    entries, pivots, trace = matrix.entries, len(found.pivots), float(matrix.diagonal().sum())
    accepted = pivots / found.proposals if found.proposals else 1.0
    error = float(found.residual.sum()) / trace if trace > 0.0 else 0.0
    return Row(method, pivots, found.rounds, accepted, entries, error)


def compare(points: np.ndarray, kernel: Gaussian | Linear, rank: int, block: int, seed: int) -> list[Row]:
    """Both methods on the kernel matrix of the points `(n, d)`. No round is without a pivot, which bounds the numbers."""
    numbers = np.random.default_rng(seed).random(2 * rank * block)
    one, many = KernelMatrix(points, kernel), KernelMatrix(points, kernel)
    return [
        row("rpcholesky", one, rpcholesky(one, rank, Uniforms(numbers))),
        row("accelerated", many, accelerated(many, rank, block, Uniforms(numbers))),
    ]


def main() -> None:
    """Print one line for each method, for clusters of points in the plane."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("size", 2000), ("rank", 60), ("block", 30), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    numbers = np.random.default_rng(given.seed).random(2 * (given.size + 8))
    points = clusters(Uniforms(numbers), given.size, dimension=2, count=8)
    for each in compare(points, Gaussian(0.05), given.rank, given.block, given.seed + 1):
        print(
            f"{each.method:12} {each.pivots} pivots in {each.rounds} rounds, {each.accepted:.0%} accepted, "
            f"{each.entries} entries, error {each.error:.2e}"
        )


if __name__ == "__main__":
    main()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""The self-consistent equations: weights of the samples, and the free energies that solve them (Shirts & Chodera 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .logspace import log, logsumexp
from .samples import SampleSet

STAGE_FACTOR = 4.0  # between the inverse temperatures of two stages
STAGE_STEP = 0.5  # the longest Newton step with which a stage but the last one is good enough ...
STAGE_ITERATIONS = 20  # ... and the number of iterations after which it must be
LAST_STEP = 1e-8  # Newton's method converges quadratically: after such a step the error is down to rounding


def log_weights(samples: SampleSet, f: np.ndarray) -> np.ndarray:
    """Logarithms of the weights of all samples in all states, `(N, K)`.

    A sample that all sampled states forbid (it cannot have been drawn) has no weight in any state.
    """
    f = np.asarray(f, dtype=np.float64)
    energies, sampled = samples.energies, np.flatnonzero(samples.counts)
    # Exponents relative to those of each sample's likeliest state: huge constants cancel before anything is rounded.
    likeliest = sampled[np.argmin(energies[sampled] - f[sampled, None], axis=0)]
    lowest = energies[likeliest, np.arange(energies.shape[1])]
    possible = np.isfinite(lowest)
    exponents = (np.where(possible, lowest, 0.0) - energies) + (f[:, None] - f[likeliest])
    denominators = logsumexp(exponents[sampled] + log(samples.counts[sampled])[:, None], axis=0)
    return (exponents - np.where(possible, denominators, np.inf)).T


def free_energies(samples: SampleSet, tolerance: float = 1e-10, max_iterations: int = 1000) -> np.ndarray:
    """Reduced free energies of all states relative to the first one, `(K,)`.

    Raises RuntimeError if they are not found within `max_iterations`.
    """
    sampled = samples.counts > 0
    lowest = np.min(samples.energies[sampled], axis=0)
    possible = np.isfinite(lowest)
    # Constants per sample do not matter, those per state are added again: what remains is of moderate size.
    energies = samples.energies[:, possible] - lowest[possible]
    constants = np.min(energies, axis=1)
    energies = energies - constants[:, None]

    counts = samples.counts[sampled].astype(np.float64)
    found = _solve(energies[sampled], counts, tolerance, max_iterations)
    denominators = logsumexp(found[:, None] - energies[sampled] + np.log(counts)[:, None], axis=0)
    # States without samples follow from (11). The others keep the values of the last step.
    f = -logsumexp(-energies - denominators, axis=1)
    f[sampled] = found
    return (f - f[0]) + (constants - constants[0])


@dataclass(frozen=True, eq=False)
class _Point:
    """Everything about given free energies of the sampled states.

    f: `(K,)`. update: what (11) makes of it. shares: `(K, N)`, N_k W_nk, each sample's probabilities to be drawn from
    the states. gradient: `(K,)`. residual: largest difference of a sum of weights from 1.
    """

    f: np.ndarray
    update: np.ndarray
    shares: np.ndarray
    gradient: np.ndarray
    residual: float


def _evaluate(f: np.ndarray, energies: np.ndarray, counts: np.ndarray) -> _Point:
    exponents = f[:, None] - energies + np.log(counts)[:, None]
    denominators = logsumexp(exponents, axis=0)
    shares = np.exp(exponents - denominators)
    # Where states barely overlap, almost every sample has one share that is nearly 1. Replacing it by 1 less the other
    # shares, and cancelling the ones with the counts, saves the digits of the small shares.
    home = np.argmax(exponents, axis=0)
    others = shares.copy()
    others[home, np.arange(len(home))] = 0.0
    leaving = np.bincount(home, np.sum(others, axis=0), len(f))
    gradient = (np.bincount(home, minlength=len(f)) - counts) + (np.sum(others, axis=1) - leaving)
    update = -logsumexp(-energies - denominators, axis=1)
    return _Point(f, update, shares, gradient, float(np.max(np.abs(gradient) / counts)))


def _newton(point: _Point) -> np.ndarray | None:
    """Newton's step with the first free energy held fixed; None where rounding makes the Hessian singular."""
    hessian = -point.shares @ point.shares.T
    np.fill_diagonal(hessian, 0.0)
    np.fill_diagonal(hessian, -np.sum(hessian, axis=1))  # as all shares of a sample sum to 1
    try:
        step = np.linalg.solve(hessian[1:, 1:], -point.gradient[1:])
    except np.linalg.LinAlgError:
        return None
    step = np.concatenate([[0.0], step])
    return step if np.isfinite(step).all() else None


def _advance(point: _Point, energies: np.ndarray, counts: np.ndarray) -> tuple[_Point, float, bool]:
    """One iteration: the next point, the length of Newton's step from `point`, and whether the residual falls.

    Of (11) and Newton's method, takes what leaves the smaller residual. If nothing lowers it, takes Newton's step damped
    so far that it never overshoots: the third derivative of the convex function along a step is at most the step's
    length times the second one.
    """
    candidates, length = [_evaluate(point.update, energies, counts)], np.inf
    step = _newton(point)
    if step is not None:
        length = float(np.ptp(step))
        damping = np.log1p(length) / length if length > 0.0 else 1.0
        candidates += [_evaluate(point.f + scale * step, energies, counts) for scale in (1.0, damping)]
    best = min(candidates, key=lambda candidate: candidate.residual)
    falls = best.residual < point.residual
    return (best if falls else candidates[-1]), length, falls


def _solve(energies: np.ndarray, counts: np.ndarray, tolerance: float, max_iterations: int) -> np.ndarray:
    """The free energies of sampled states, up to a common constant; RuntimeError after `max_iterations` in all.

    Goes in stages from an inverse temperature at which all states overlap, which is easy, to that of the data.
    """
    spread = float(np.max(energies[np.isfinite(energies)]))
    stage = int(np.ceil(np.log(max(spread, 1.0)) / np.log(STAGE_FACTOR)))
    scaled, spent = energies * STAGE_FACTOR**-stage, 0
    point = _evaluate(np.zeros(len(counts)), scaled, counts)
    for _ in range(max_iterations):
        following, length, falls = _advance(point, scaled, counts)
        spent += 1
        if stage == 0:
            if point.residual <= tolerance and not falls:
                return point.f  # as good as rounding permits
            point = following
            if point.residual <= tolerance and length <= LAST_STEP:
                return point.f
        elif length <= STAGE_STEP or spent >= STAGE_ITERATIONS:
            stage, spent = stage - 1, 0
            scaled = energies * STAGE_FACTOR**-stage
            point = _evaluate(following.f * STAGE_FACTOR, scaled, counts)
        else:
            point = following
    raise RuntimeError(f"no solution within {max_iterations} iterations")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

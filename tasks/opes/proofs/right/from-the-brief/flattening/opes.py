"""On-the-fly probability enhanced sampling: the estimate of the distribution, and the bias."""

from __future__ import annotations

import math

import numpy as np

from .kernels import Estimate, Kernels
from .settings import Settings


def _exponents(kernels: Kernels, settings: Settings, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each kernel at each point: the logarithm relative to the height (N, K), and the differences (N, K, d)."""
    ways = settings.cell.difference(kernels.centers, points[:, None, :])
    with np.errstate(over="ignore"):
        return -0.5 * np.sum((ways / kernels.widths) ** 2, axis=-1), ways


def density(estimate: Estimate, settings: Settings, points: np.ndarray) -> np.ndarray:
    """The estimated distribution at points, (N,)."""
    points = settings.cell.points(points)
    kernels = estimate.kernels
    if not len(kernels.heights):
        return np.zeros(len(points))
    exponents, _ = _exponents(kernels, settings, points)
    return np.exp(exponents) @ kernels.heights / estimate.weight


def explored_average(estimate: Estimate, settings: Settings) -> float:
    """The mean of the distribution over what was explored."""
    if not len(estimate.kernels.heights):
        return 1.0
    return float(np.mean(density(estimate, settings, estimate.kernels.centers)))


def _logs(kernels: Kernels, settings: Settings, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithm of the sum of the kernels (N,), the share of each one (N, K), and the differences (N, K, d)."""
    exponents, ways = _exponents(kernels, settings, points)
    with np.errstate(divide="ignore"):
        exponents = exponents + np.log(kernels.heights)
    top = exponents.max(axis=1, keepdims=True)
    shares = np.exp(exponents - np.where(np.isfinite(top), top, 0.0))
    total = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = (top + np.log(total))[:, 0]
    return logs, shares / np.where(total > 0.0, total, 1.0), ways


def bias(estimate: Estimate, settings: Settings, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bias (N,) at points, and its forces (N, d)."""
    points = settings.cell.points(points)
    kernels = estimate.kernels
    if not len(kernels.heights):
        return np.full(len(points), -float(settings.barrier)), np.zeros(points.shape)
    prefactor = settings.kt * (1.0 - 1.0 / settings.gamma)
    floor = -settings.barrier / prefactor  # log epsilon
    at_centers, _, _ = _logs(kernels, settings, kernels.centers)
    average = np.logaddexp.reduce(at_centers) - math.log(len(at_centers))  # log of the weight times Z
    logs, shares, ways = _logs(kernels, settings, points)
    ratio = logs - average  # log of P / Z
    level = np.logaddexp(ratio, floor)
    slopes = np.sum(shares[..., None] * ways / kernels.widths**2, axis=1)
    return prefactor * level, prefactor * np.exp(ratio - level)[:, None] * slopes


def compress(kernels: Kernels, settings: Settings, center: np.ndarray, width: np.ndarray, height: float) -> Kernels:
    """The kernels with one more, which may be merged with others."""
    cell = settings.cell
    center, width = np.array(center, dtype=np.float64), np.array(width, dtype=np.float64)
    height = float(height)
    centers, widths, heights = kernels.centers, kernels.widths, kernels.heights
    while len(heights):
        ways = cell.difference(centers, center)  # from the old ones to the new one
        distances = np.sqrt(np.sum((ways / widths) ** 2, axis=1))
        near = int(np.argmin(distances))
        if not distances[near] < settings.threshold:
            break
        total = height + heights[near]
        new, old = height / total, heights[near] / total
        width = np.sqrt(new * width**2 + old * widths[near] ** 2 + new * old * ways[near] ** 2)
        center = centers[near] + new * ways[near]
        height = float(total)
        centers, widths, heights = (np.delete(array, near, axis=0) for array in (centers, widths, heights))
    return Kernels(
        np.concatenate([centers, cell.wrap(center)[None]]),
        np.concatenate([widths, width[None]]),
        np.append(heights, height),
    )


def update(estimate: Estimate, settings: Settings, point: np.ndarray, bias: float) -> Estimate:
    """The estimate after one more point."""
    point = settings.cell.points(np.asarray(point, dtype=np.float64)[None])[0]
    count = len(point)
    gain = math.exp(float(bias) / settings.kt)
    weight, square = float(estimate.weight) + gain, float(estimate.square) + gain * gain
    effective = weight * weight / square
    width = np.array(settings.widths, dtype=np.float64) * (effective * (count + 2) / 4.0) ** (-1.0 / (count + 4))
    height = gain / float(np.prod(math.sqrt(2.0 * math.pi) * width))
    return Estimate(compress(estimate.kernels, settings, point, width, height), weight, square)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

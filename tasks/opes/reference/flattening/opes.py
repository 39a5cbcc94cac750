"""On-the-fly probability enhanced sampling: the estimate of the distribution, and the bias (Invernizzi and Parrinello, 2020)."""

from __future__ import annotations

import numpy as np

from .kernels import Estimate, Kernels
from .settings import Settings


def _gaussians(kernels: Kernels, settings: Settings, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of the kernels at points, (N, K), and the ways from centres to points, (N, K, d)."""
    apart = settings.cell.difference(kernels.centers, points[:, None, :])
    return kernels.heights * np.exp(-0.5 * ((apart / kernels.widths) ** 2).sum(axis=-1)), apart


def density(estimate: Estimate, settings: Settings, points: np.ndarray) -> np.ndarray:
    """The estimated distribution at points, (N,)."""
    points = settings.cell.points(points)
    if not len(estimate.kernels.heights):
        return np.zeros(len(points))
    return _gaussians(estimate.kernels, settings, points)[0].sum(axis=1) / estimate.weight


def explored_average(estimate: Estimate, settings: Settings) -> float:
    """The mean of the distribution over what was explored."""
    if not len(estimate.kernels.heights):
        return 1.0
    return float(density(estimate, settings, estimate.kernels.centers).mean())


def bias(estimate: Estimate, settings: Settings, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bias (N,) at points, and its forces (N, d)."""
    points, kernels = settings.cell.points(points), estimate.kernels
    scale = settings.kt * (1.0 - 1.0 / settings.gamma)
    floor = np.exp(-settings.barrier / scale)
    if not len(kernels.heights):
        return np.full(len(points), -settings.barrier), np.zeros(points.shape)
    average = explored_average(estimate, settings)
    values, apart = _gaussians(kernels, settings, points)
    relative = values.sum(axis=1) / estimate.weight / average + floor
    slopes = -(values[..., None] * apart / kernels.widths**2).sum(axis=1) / estimate.weight / average
    return scale * np.log(relative), -scale * slopes / relative[:, None]


def compress(kernels: Kernels, settings: Settings, center: np.ndarray, width: np.ndarray, height: float) -> Kernels:
    """The kernels with one more, which may be merged with others."""
    center, width = settings.cell.wrap(center), np.asarray(width, dtype=np.float64)
    centers, widths, heights = kernels.centers, kernels.widths, kernels.heights
    while len(heights):
        apart = settings.cell.difference(center, centers)
        distances = np.sqrt(((apart / widths) ** 2).sum(axis=1))
        nearest = int(np.argmin(distances))
        if not distances[nearest] < settings.threshold:
            break
        share = heights[nearest] / (height + heights[nearest])
        width = np.sqrt(
            (1.0 - share) * width**2 + share * widths[nearest] ** 2 + share * (1.0 - share) * apart[nearest] ** 2
        )
        center = settings.cell.wrap(center + share * apart[nearest])
        height = height + heights[nearest]
        rest = np.arange(len(heights)) != nearest
        centers, widths, heights = centers[rest], widths[rest], heights[rest]
    return Kernels(np.vstack([centers, center]), np.vstack([widths, width]), np.append(heights, height))


def update(estimate: Estimate, settings: Settings, point: np.ndarray, bias: float) -> Estimate:
    """The estimate after one more point."""
    weight = np.exp(bias / settings.kt)
    total, square = estimate.weight + weight, estimate.square + weight**2
    variables = len(settings.widths)
    shrinking = (total**2 / square * (variables + 2.0) / 4.0) ** (-1.0 / (variables + 4.0))
    width = shrinking * np.array(settings.widths)
    height = weight / np.prod(np.sqrt(2.0 * np.pi) * width)
    return Estimate(compress(estimate.kernels, settings, point, width, height), float(total), float(square))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

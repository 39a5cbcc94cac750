"""Logarithms of the density, and a recursive compression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .kernels import Estimate, Kernels
from .settings import Settings


def _log_terms(estimate, settings, points):
    kernels = estimate.kernels
    ways = settings.cell.difference(kernels.centers[None], points[:, None])
    logs = np.log(kernels.heights) - 0.5 * np.einsum("nkd,nkd->nk", ways / kernels.widths, ways / kernels.widths)
    return logs, ways


def _log_density(estimate, settings, points):
    logs, ways = _log_terms(estimate, settings, points)
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True)
    slopes = -np.einsum("nk,nkd->nd", shares / total, ways / estimate.kernels.widths**2)
    return (top + np.log(total))[:, 0] - np.log(estimate.weight), slopes


def density(estimate: Estimate, settings: Settings, points):
    points = settings.cell.points(points)
    if estimate.kernels.heights.size == 0:
        return np.zeros(points.shape[0])
    return np.exp(_log_density(estimate, settings, points)[0])


def explored_average(estimate: Estimate, settings: Settings) -> float:
    if estimate.kernels.heights.size == 0:
        return 1.0
    return float(np.average(density(estimate, settings, estimate.kernels.centers)))


def bias(estimate: Estimate, settings: Settings, points):
    points = settings.cell.points(points)
    if estimate.kernels.heights.size == 0:
        return -settings.barrier * np.ones(points.shape[0]), 0.0 * points
    scale = settings.kt * (settings.gamma - 1.0) / settings.gamma
    logs, slopes = _log_density(estimate, settings, points)
    logs = logs - np.log(explored_average(estimate, settings))
    both = np.logaddexp(logs, -settings.barrier / scale)
    return scale * both, -scale * np.exp(logs - both)[:, None] * slopes


def compress(kernels: Kernels, settings: Settings, center, width, height) -> Kernels:
    center = settings.cell.wrap(center)
    width = np.asarray(width, dtype=float)
    if kernels.heights.size:
        ways = settings.cell.difference(center, kernels.centers)
        squares = np.einsum("kd,kd->k", ways / kernels.widths, ways / kernels.widths)
        near = squares.argmin()
        if np.sqrt(squares[near]) < settings.threshold:
            parts = np.array([height, kernels.heights[near]])
            parts = parts / parts.sum()
            mean = parts[1] * ways[near]
            spread = parts[0] * (width**2 + mean**2) + parts[1] * (kernels.widths[near] ** 2 + (ways[near] - mean) ** 2)
            rest = Kernels(*(np.delete(each, near, axis=0) for each in (kernels.centers, kernels.widths, kernels.heights)))
            return compress(rest, settings, center + mean, np.sqrt(spread), height + kernels.heights[near])
    return Kernels(
        np.concatenate([kernels.centers, center[None]]),
        np.concatenate([kernels.widths, width[None]]),
        np.concatenate([kernels.heights, [height]]),
    )


def update(estimate: Estimate, settings: Settings, point, bias: float) -> Estimate:
    d = len(settings.widths)
    w = float(np.exp(bias / settings.kt))
    new = replace(estimate, weight=estimate.weight + w, square=estimate.square + w**2)
    silverman = (new.weight**2 / new.square * (d + 2) / 4) ** (-1 / (d + 4))
    width = np.asarray(settings.widths) * silverman
    return replace(new, kernels=compress(new.kernels, settings, point, width, w / ((2 * np.pi) ** (d / 2) * width.prod())))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""One point, one kernel and one variable at a time."""

import math

import numpy as np

from .kernels import Estimate, Kernels
from .settings import Settings


def _at(estimate, settings, point):
    """P_n and its derivatives at one point."""
    value, slope = 0.0, [0.0] * len(settings.widths)
    kernels = estimate.kernels
    for center, width, height in zip(kernels.centers, kernels.widths.tolist(), kernels.heights.tolist()):
        way = settings.cell.difference(center, point).tolist()
        term = height * math.exp(-0.5 * sum((x / w) * (x / w) for x, w in zip(way, width))) / estimate.weight
        value += term
        for place, (x, w) in enumerate(zip(way, width)):
            slope[place] -= term * (x / w) / w
    return value, slope


def density(estimate: Estimate, settings: Settings, points):
    return np.array([_at(estimate, settings, point)[0] for point in settings.cell.points(points)], dtype=np.float64)


def explored_average(estimate: Estimate, settings: Settings):
    centers = estimate.kernels.centers
    if len(centers) == 0:
        return 1.0
    return sum(_at(estimate, settings, center)[0] for center in centers) / len(centers)


def bias(estimate: Estimate, settings: Settings, points):
    given = settings.cell.points(points)
    values, forces = np.empty(len(given)), np.empty(given.shape)
    scale = settings.kt - settings.kt**2 / settings.barrier
    epsilon = math.exp(-settings.barrier / scale)
    average = explored_average(estimate, settings)
    for place, point in enumerate(given):
        value, slope = _at(estimate, settings, point)
        values[place] = scale * math.log(value / average + epsilon)
        forces[place] = [-scale * each / (value + epsilon * average) for each in slope]
    return values, forces


def compress(kernels: Kernels, settings: Settings, center, width, height):
    cell = settings.cell
    old = [
        (np.array(s), np.array(sigma), float(h))
        for s, sigma, h in zip(kernels.centers, kernels.widths, kernels.heights)
    ]
    new = (cell.wrap(np.array(center, dtype=float)), np.array(width, dtype=float), float(height))
    while True:
        best = None
        for place, (s, sigma, _) in enumerate(old):
            distance = math.sqrt(sum(((x / w) ** 2 for x, w in zip(cell.difference(new[0], s), sigma))))
            if distance < settings.threshold and (best is None or distance < best[0]):
                best = (distance, place)
        if best is None:
            break
        s, sigma, h = old.pop(best[1])
        total = new[2] + h
        way = cell.difference(new[0], s)
        mean = h / total * way
        variance = new[2] / total * (new[1] ** 2 + mean**2) + h / total * (sigma**2 + (way - mean) ** 2)
        new = (cell.wrap(new[0] + mean), np.sqrt(variance), total)
    old.append(new)
    return Kernels(*(np.array([each[part] for each in old]) for part in range(3)))


def update(estimate: Estimate, settings: Settings, point, bias):
    w = math.exp(bias / settings.kt)
    total, square = estimate.weight + w, estimate.square + w * w
    d = len(settings.widths)
    factor = (4.0 / ((d + 2) * total * total / square)) ** (1.0 / (d + 4))
    width = [factor * each for each in settings.widths]
    height = w
    for each in width:
        height /= each * math.sqrt(2.0 * math.pi)
    return Estimate(compress(estimate.kernels, settings, point, width, height), total, square)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""Geometric losses."""

import numpy as np

from .camera import Camera
from .records import Rendering

_BLOCK = 1 << 20  # numbers per temporary array in `depth_distortion`


def depth_distortion(weights: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """How far apart the samples of each pixel lie.

    Between two neighbours in the order of the depths lies a gap, which all pairs with one sample on either side of it
    have to cross. The loss is the sum of the gaps, each times twice the weights below and above: nothing cancels.
    """
    count, total = weights.shape
    result = np.zeros(total)
    if count < 2:
        return result
    step = max(1, _BLOCK // count)
    for start in range(0, total, step):
        part = slice(start, start + step)
        weight = weights[:, part]
        live = weight > 0.0
        # Samples without weight move to the farthest one that has some.
        farthest = np.where(live, depths[:, part], -np.inf).max(axis=0)
        farthest[~live.any(axis=0)] = 0.0
        depth = np.where(live, depths[:, part], farthest)

        order = np.argsort(depth, axis=0)
        depth = np.take_along_axis(depth, order, axis=0)
        weight = np.take_along_axis(weight, order, axis=0)
        below = np.cumsum(weight, axis=0)[:-1]
        above = np.cumsum(weight[::-1], axis=0)[::-1][1:]
        result[part] = 2.0 * np.sum(np.diff(depth, axis=0) * below * above, axis=0)
    return result


def normal_consistency(rendering: Rendering, depth: np.ndarray, camera: Camera) -> np.ndarray:
    """How much the normals of the splats of each pixel differ from that of the surface."""
    height, width = camera.height, camera.width
    loss = np.zeros((height, width))
    if height < 3 or width < 3:
        return loss.ravel()

    valid = (depth > 0.0) & np.isfinite(depth)
    points = camera.rays(camera.pixels()) * np.where(valid, depth, 1.0)[:, None]
    points = points.reshape(height, width, 3)
    valid = valid.reshape(height, width)

    known = valid[1:-1, 1:-1] & valid[1:-1, 2:] & valid[1:-1, :-2] & valid[2:, 1:-1] & valid[:-2, 1:-1]
    along_x = (points[1:-1, 2:] - points[1:-1, :-2])[known]
    along_y = (points[2:, 1:-1] - points[:-2, 1:-1])[known]
    middle = points[1:-1, 1:-1][known]

    surface = _unit(np.cross(_unit(along_x), _unit(along_y)))
    surface[np.sum(surface * middle, axis=1) > 0.0] *= -1.0

    opacity = rendering.opacity.reshape(height, width)[1:-1, 1:-1][known]
    blended = rendering.normal.reshape(height, width, 3)[1:-1, 1:-1][known]
    loss[1:-1, 1:-1][known] = opacity - np.sum(blended * surface, axis=1)
    return loss.ravel()


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, 3), none of them 0, at unit length, without overflow or underflow.

    Neither the differences nor their cross product vanish where all depths are positive.
    """
    vectors = vectors / np.max(np.abs(vectors), axis=1, keepdims=True)
    return vectors / np.sqrt(np.sum(vectors * vectors, axis=1, keepdims=True))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""Losses, pixel by pixel."""

import numpy as np


def depth_distortion(weights, depths):
    result = np.zeros(weights.shape[1])
    for pixel in range(len(result)):
        used = weights[:, pixel] > 0.0
        if not used.any():
            continue
        mass, place = weights[used, pixel], depths[used, pixel]
        order = np.argsort(place)
        mass, place = mass[order], place[order] - place.min()
        # Twice the sum over pairs whose second one lies deeper.
        result[pixel] = 2.0 * np.sum(mass * (place * (np.cumsum(mass) - mass) - (np.cumsum(mass * place) - mass * place)))
    return result


def normal_consistency(rendering, depth, camera):
    width, height = camera.width, camera.height
    rays = camera.rays(camera.pixels())
    result = np.zeros(width * height)
    for row in range(1, height - 1):
        for column in range(1, width - 1):
            here = row * width + column
            left, right, above, below = here - 1, here + 1, here - width, here + width
            if any(not depth[each] > 0.0 for each in (here, left, right, above, below)):
                continue
            across = rays[right] * depth[right] - rays[left] * depth[left]
            down = rays[below] * depth[below] - rays[above] * depth[above]
            normal = np.cross(across, down)
            normal = normal / np.sqrt(normal @ normal)
            if normal @ rays[here] > 0.0:
                normal = -normal
            result[here] = (1.0 - rendering.transmittance[here]) - rendering.normal[here] @ normal
    return result

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

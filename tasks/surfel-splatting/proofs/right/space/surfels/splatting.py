"""Splats one by one, and their intersections with rays in space."""

import numpy as np

from .records import Samples, Splats
from .settings import EDGE_ON


def project(surfels, camera):
    turn = np.array(camera.rotation, dtype=float)
    shift = np.array(camera.translation, dtype=float)
    places = [turn @ position + shift for position in surfels.positions]
    index = sorted((k for k, place in enumerate(places) if place[2] >= camera.near), key=lambda k: (places[k][2], k))
    count = len(index)
    along_u, along_v = surfels.tangents
    matrices, centers, normals = np.zeros((count, 3, 3)), np.zeros((count, 2)), np.zeros((count, 3))
    for row, k in enumerate(index):
        u_axis, v_axis, place = turn @ along_u[k], turn @ along_v[k], places[k]
        for column, vector in enumerate((surfels.scales[k, 0] * u_axis, surfels.scales[k, 1] * v_axis, place)):
            x = camera.focal[0] * vector[0] + camera.principal[0] * vector[2]
            y = camera.focal[1] * vector[1] + camera.principal[1] * vector[2]
            matrices[row, :, column] = x, y, vector[2]
        centers[row] = [place[axis] / place[2] * camera.focal[axis] + camera.principal[axis] for axis in (0, 1)]
        normal = np.cross(u_axis, v_axis)
        normals[row] = normal if normal @ place <= 0.0 else -normal
    return Splats(
        index=np.array(index, dtype=np.int64),
        matrices=matrices,
        centers=centers,
        depths=np.array([places[k][2] for k in index], dtype=float),
        normals=normals,
        opacities=np.array([surfels.opacities[k] for k in index], dtype=float),
        colors=np.array([surfels.colors[k] for k in index], dtype=float).reshape(count, 3),
    )


def sample(splats, pixels, camera, config):
    rays = camera.rays(pixels)
    lengths = np.sqrt((rays**2).sum(axis=1))
    alphas, depths = np.zeros((len(splats.index), len(pixels))), np.zeros((len(splats.index), len(pixels)))
    back = np.linalg.inv(camera.intrinsics)
    for k in range(len(splats.index)):
        u_axis, v_axis, place = (back @ splats.matrices[k]).T
        normal = splats.normals[k]
        falls = rays @ normal
        meets = np.abs(falls) > EDGE_ON * lengths
        z = np.full(len(pixels), -1.0)
        z[meets] = (normal @ place) / falls[meets]
        meets &= z >= camera.near
        offsets = z[:, None] * rays - place
        squares = (offsets @ u_axis / (u_axis @ u_axis)) ** 2 + (offsets @ v_axis / (v_axis @ v_axis)) ** 2
        own = np.where(meets, np.exp(-squares / 2.0), 0.0)
        dx, dy = (pixels - splats.centers[k]).T
        smooth = np.exp(-(dx * dx + dy * dy) / (2.0 * config.filter_width * config.filter_width))
        alpha = np.minimum(config.max_alpha, splats.opacities[k] * np.maximum(own, smooth))
        alpha[alpha < config.min_alpha] = 0.0
        alphas[k] = alpha
        depths[k] = np.where(alpha > 0.0, np.where(own < smooth, splats.depths[k], z), 0.0)
    return Samples(alphas, depths)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

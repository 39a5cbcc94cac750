"""Splats on the image plane."""

import numpy as np

from .camera import Camera
from .model import Surfels
from .records import Samples, Splats
from .settings import EDGE_ON, RenderConfig

_BLOCK = 1 << 17  # numbers per temporary array in `sample`


def project(surfels: Surfels, camera: Camera) -> Splats:
    """The surfels that `camera` sees, front to back."""
    centers = camera.to_camera(surfels.positions)
    if len(centers):
        # Equal positions get equal depths, whatever the order in which a matrix product adds.
        _, first, group = np.unique(surfels.positions, axis=0, return_index=True, return_inverse=True)
        centers = centers[first[group.reshape(-1)]]
    order = np.argsort(centers[:, 2], kind="stable")
    index = order[centers[order, 2] >= camera.near].astype(np.int64)

    center = centers[index]
    rotation = np.asarray(camera.rotation, dtype=np.float64)
    u_axis, v_axis = (tangent[index] @ rotation.T for tangent in surfels.tangents)
    scales = surfels.scales[index]

    columns = np.stack([scales[:, :1] * u_axis, scales[:, 1:] * v_axis, center], axis=2)
    matrices = camera.intrinsics @ columns

    normals = np.cross(u_axis, v_axis)
    away = np.sum(normals * center, axis=1) > 0.0
    normals[away] *= -1.0

    return Splats(
        index=index,
        matrices=matrices,
        centers=matrices[:, :2, 2] / center[:, 2:],
        depths=center[:, 2].copy(),
        normals=normals,
        opacities=surfels.opacities[index],
        colors=surfels.colors[index],
    )


def sample(splats: Splats, pixels: np.ndarray, camera: Camera, config: RenderConfig) -> Samples:
    """Alpha and depth of every splat at every pixel."""
    count, total = len(splats.depths), len(pixels)
    alphas = np.zeros((count, total))
    depths = np.zeros((count, total))
    if count == 0 or total == 0:
        return Samples(alphas, depths)

    rays = camera.rays(pixels)
    lengths = np.sqrt(np.sum(rays * rays, axis=1))
    step = max(1, _BLOCK // total)
    for start in range(0, count, step):
        rows = slice(start, start + step)
        value, depth = _intersect(splats.matrices[rows], splats.normals[rows], pixels, rays, lengths, camera)
        low_pass = _low_pass(splats.centers[rows], pixels, config.filter_width)

        alpha = splats.opacities[rows, None] * np.maximum(value, low_pass)
        alpha = np.minimum(alpha, config.max_alpha)
        alpha[alpha < config.min_alpha] = 0.0
        depth = np.where(value >= low_pass, depth, splats.depths[rows, None])
        alphas[rows] = alpha
        depths[rows] = np.where(alpha > 0.0, depth, 0.0)
    return Samples(alphas, depths)


def _intersect(matrices, normals, pixels, rays, lengths, camera):
    """G (6) and the depth (5) of the intersections, (B, P) each; both are 0 where the ray does not meet the splat.

    The lines (4) are solved for (s_u u, s_v v), with unit tangents in coordinates of the camera, so that the scales do
    not enter before the last division. With the center c = z_c d_c, the ray d = d_c + w and n = t_u x t_v, both lines
    together say z d = c + s_u u t_u + s_v v t_v, and therefore

        s_u u = t_v . (c x w) / (n . d),    s_v v = -t_u . (c x w) / (n . d).
    """
    focal, principal = np.array(camera.focal), np.array(camera.principal)
    columns = matrices.copy()
    columns[:, :2] = (matrices[:, :2] - principal[:, None] * matrices[:, 2:]) / focal[:, None]
    scales = np.sqrt(np.sum(columns[:, :, :2] ** 2, axis=1))  # (B, 2)
    u_axis = columns[:, :, 0] / scales[:, :1]
    v_axis = columns[:, :, 1] / scales[:, 1:]
    center = columns[:, :, 2]
    plane = np.cross(u_axis, v_axis)

    seen = matrices[:, :2, 2] / matrices[:, 2:, 2]  # the center's pixel coordinates
    w_x = (pixels[:, 0] - seen[:, :1]) / focal[0]
    w_y = (pixels[:, 1] - seen[:, 1:]) / focal[1]

    slope = plane @ rays.T
    sine = np.abs(normals @ rays.T) / lengths
    met = (sine > EDGE_ON) & (slope != 0.0)
    slope = np.where(met, slope, 1.0)

    # w has no z: t . (c x w) = (t x c) . w
    toward_u = np.cross(v_axis, center)
    toward_v = np.cross(center, u_axis)
    reach_u = (toward_u[:, :1] * w_x + toward_u[:, 1:2] * w_y) / slope
    reach_v = (toward_v[:, :1] * w_x + toward_v[:, 1:2] * w_y) / slope
    depth = center[:, 2:] + u_axis[:, 2:] * reach_u + v_axis[:, 2:] * reach_v
    met &= depth >= camera.near

    with np.errstate(over="ignore", under="ignore"):
        radius = (reach_u / scales[:, :1]) ** 2 + (reach_v / scales[:, 1:]) ** 2
        value = np.exp(-0.5 * radius)
    return np.where(met, value, 0.0), np.where(met, depth, 0.0)


def _low_pass(centers, pixels, width):
    """F (7), (B, P). A filter without width is 1 at the center and 0 elsewhere."""
    offset_x = pixels[:, 0] - centers[:, :1]
    offset_y = pixels[:, 1] - centers[:, 1:]
    if width == 0.0:
        return ((offset_x == 0.0) & (offset_y == 0.0)).astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-0.5 * ((offset_x / width) ** 2 + (offset_y / width) ** 2))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""Every sample from its own decomposition."""

import math

import numpy as np

from .results import Estimate
from .vectors import checked


def _range(columns):
    left, values, _ = np.linalg.svd(columns)
    if not len(values) or values[0] == 0.0:
        return left[:, :0]
    return left[:, : int((values > 1e-12 * values[0]).sum())]


def leave_one_out(images):
    images = np.array(images, dtype=np.float64)
    basis = _range(images)
    lost = []
    for column in range(images.shape[1]):
        part = _range(np.delete(images, column, axis=1))
        if part.shape[1] == basis.shape[1]:
            lost.append(np.zeros(basis.shape[1]))
        else:
            directions = np.linalg.svd(basis.T @ part)[0]
            lost.append(directions[:, -1])
    return basis, np.array(lost).T.reshape(basis.shape[1], images.shape[1])


def _finish(samples):
    values = [float(each) for each in samples]
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, math.inf, np.array(values))
    square = math.fsum((value - mean) ** 2 for value in values) / (count * (count - 1))
    return Estimate(mean, math.sqrt(square), np.array(values))


def xtrace(operator, vectors, *, normalise=True):
    vectors = checked(vectors, operator.size)
    images = operator.apply(vectors)
    basis, lost = leave_one_out(images)
    basis_images = operator.apply(basis)
    samples = []
    for column in range(vectors.shape[1]):
        direction = lost[:, column]
        keep = np.eye(basis.shape[1]) - np.outer(direction, direction)
        sample = np.trace(keep @ basis.T @ basis_images @ keep)
        free = operator.size - basis.shape[1] + (1 if direction.any() else 0)
        if free:
            coordinates = keep @ (basis.T @ vectors[:, column])
            outside = vectors[:, column] - basis @ coordinates
            term = outside @ (images[:, column] - basis_images @ coordinates)
            sample += term * free / (outside @ outside) if normalise else term
        samples.append(sample)
    return _finish(samples)


def xnystrace(operator, vectors, *, normalise=True, shift=1e-10):
    vectors = checked(vectors, operator.size)
    size, count = vectors.shape
    if count > size:
        raise ValueError("more vectors than dimensions")
    images = operator.apply(vectors)
    if np.all(images == 0.0):
        return _finish(np.zeros(count))
    nu = shift * math.sqrt(np.sum((images / np.abs(images).max()) ** 2) / size) * np.abs(images).max()
    images = images + nu * vectors
    inner = vectors.T @ images
    if np.linalg.eigvalsh((inner + inner.T) / 2)[0] <= 0.0:
        raise ValueError("negative eigenvalues")
    samples = []
    for column in range(count):
        others = [other for other in range(count) if other != column]
        part = np.linalg.cholesky((inner + inner.T)[np.ix_(others, others)] / 2)
        root = np.linalg.solve(part, images[:, others].T)
        across = np.linalg.solve(part, inner[others, column])
        rest = inner[column, column] - across @ across
        factor = 1.0
        if normalise:
            basis = np.linalg.qr(vectors[:, others])[0]
            outside = vectors[:, column] - basis @ (basis.T @ vectors[:, column])
            outside = outside - basis @ (basis.T @ outside)
            factor = (size - count + 1) / (outside @ outside)
        samples.append(np.sum(root * root) + factor * rest - nu * size)
    return _finish(samples)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

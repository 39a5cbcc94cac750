"""Describes an array by shape, range and structure, so that others like it can be drawn.

Runs in the sandbox of a repository whose calls are recorded. Called by `descriptions.py`. Must not modify the array.

numpy is imported already if there is an array. Python 3.9+.
"""

from __future__ import annotations

import sys
from typing import Any

MAX_DATA = 600  # elements of an array that is described with its values
MAX_STUDIED = 1_000_000  # elements of an array whose structure is examined
MAX_MATRIX = 200  # rows of a matrix whose eigenvalues are computed
MAX_CHOICES = 8


def describe_array(value: Any) -> dict[str, Any]:
    """The description of an array of a plain dtype. `traits` are names of structure that `drawing` can give to a drawn array."""
    np: Any = sys.modules["numpy"]
    array = np.ndarray.view(value, np.ndarray)
    kind = array.dtype.kind
    description: dict[str, Any] = {"kind": "array", "dtype": array.dtype.str, "shape": list(array.shape), "traits": []}
    if array.size and array.size <= MAX_DATA and kind in "biufcU":
        description["data"] = array.tolist()
    if not array.size or array.size > MAX_STUDIED or kind not in "biufc":
        return description
    if kind == "b":
        return {**description, "share": float(array.mean())}
    finite = np.isfinite(array)
    if not finite.all():
        description["traits"].append("nan" if np.isnan(array).sum() == (~finite).sum() else "infinite")
        description["share"] = float((~finite).mean())
        if not finite.any():
            return description
    values = array[finite]
    parts = np.concatenate([values.real, values.imag]) if kind == "c" else values
    if kind in "iu":
        description["low"], description["high"] = int(parts.min()), int(parts.max())
    else:
        description["quantiles"] = [
            float(each) for each in np.quantile(parts.astype(float), [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1])
        ]
    distinct = np.unique(values)
    if kind in "iuf" and len(distinct) <= MAX_CHOICES and array.size >= 2 * len(distinct):
        description["choices"] = distinct.tolist()
    if finite.all():
        description["traits"] += _traits(np, array, kind)
    return description


def _traits(np: Any, array: Any, kind: str) -> list[str]:
    traits = []
    if kind in "iuf":
        if kind == "f" and (array == np.rint(array)).all():
            traits.append("integral")
        if array.size > 1 and (array == array.flat[0]).all():
            traits.append("constant")
        if array.ndim and array.shape[-1] >= 3:
            steps = np.diff(array.astype(float), axis=-1)
            traits += ["ascending"] if (steps > 0).all() else ["nondecreasing"] if (steps >= 0).all() else []
        if kind != "f" and array.ndim == 1 and array.size > 1 and (np.sort(array) == np.arange(array.size)).all():
            traits.append("permutation")
    if kind == "f" and array.ndim and array.shape[-1] > 1 and (array >= 0).all():
        if np.allclose(array.sum(axis=-1), 1.0, atol=1e-6):
            traits.append("sums_to_one")
        elif array.ndim > 1 and np.isclose(array.sum(), 1.0, atol=1e-6):
            traits.append("total_one")
    if kind in "fc" and array.ndim >= 2 and array.shape[-1] == array.shape[-2] and 1 < array.shape[-1] <= MAX_MATRIX:
        traits += _matrix_traits(np, array)
    if kind == "f" and array.ndim >= 2 and array.shape[-1] > 1 and _has_unit_rows(np, array):
        traits.append("unit_rows")
    return traits


def _has_unit_rows(np: Any, array: Any) -> bool:
    return bool(np.allclose(np.linalg.norm(array, axis=-1), 1.0, atol=1e-6))


def _matrix_traits(np: Any, array: Any) -> list[str]:
    traits = []
    turned = np.conj(np.swapaxes(array, -1, -2))
    diagonal = np.diagonal(array, axis1=-2, axis2=-1)
    eye = np.eye(array.shape[-1])
    if np.allclose(array, array * eye):
        traits.append("diagonal")
    if np.allclose(array, turned):
        traits.append("symmetric")
        try:
            lowest = np.linalg.eigvalsh(array)
        except np.linalg.LinAlgError:
            lowest = np.full((1, 2), -1.0)
        if (lowest[..., 0] > 1e-9 * abs(lowest[..., -1])).all():
            traits.append("positive_definite")
        elif (lowest[..., 0] > -1e-9 * abs(lowest[..., -1])).all():
            traits.append("positive_semidefinite")
    else:
        traits += ["lower_triangular"] if np.allclose(array, np.tril(array)) else []
        traits += ["upper_triangular"] if np.allclose(array, np.triu(array)) else []
    traits += ["orthogonal"] if np.allclose(array @ turned, eye) else []
    if np.allclose(diagonal, 0.0):
        traits.append("zero_diagonal")
    elif np.allclose(diagonal, 1.0):
        traits.append("unit_diagonal")
    return traits

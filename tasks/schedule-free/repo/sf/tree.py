"""Trees: nested dicts, lists and tuples of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Tree = Any
"""A leaf (an array or a number), or a dict, list or tuple of trees."""


def children(tree: Tree) -> dict[Any, Tree] | None:
    """Children by key or position; None for a leaf."""
    if isinstance(tree, dict):
        return dict(tree)
    if isinstance(tree, (list, tuple)):
        return dict(enumerate(tree))
    return None


def map_tree(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Apply a function to the corresponding leaves of trees; the result has the structure of the first.

    None in one of the others stands for None at all leaves below. Raises ValueError if structures differ.
    """
    below = children(tree)
    if below is None:
        if any(children(other) is not None for other in others):
            raise ValueError("a tree has children where another has a leaf")
        return function(tree, *others)
    parts = [dict.fromkeys(below) if other is None else children(other) for other in others]
    if any(part is None or part.keys() != below.keys() for part in parts):
        raise ValueError("the trees have different structures")
    made = {key: map_tree(function, child, *(part[key] for part in parts)) for key, child in below.items()}
    return made if isinstance(tree, dict) else type(tree)(made.values())


def flatten(tree: Tree) -> dict[str, Any]:
    """Leaves by path, such as `layers/0/weight`; the path of a tree that is a leaf is empty."""
    below = children(tree)
    if below is None:
        return {"": tree}
    return {
        f"{key}/{path}" if path else str(key): leaf
        for key, child in below.items()
        for path, leaf in flatten(child).items()
    }


def unflatten(like: Tree, leaves: dict[str, Any]) -> Tree:
    """Tree of the structure of `like` with the given leaves; raises KeyError for a leaf that is not given."""

    def build(tree: Tree, above: tuple[str, ...]) -> Tree:
        below = children(tree)
        if below is None:
            return leaves["/".join(above)]
        made = [build(child, (*above, str(key))) for key, child in below.items()]
        return dict(zip(below, made, strict=True)) if isinstance(tree, dict) else type(tree)(made)

    return build(like, ())


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""Checkpoints in files, so that training that was interrupted can go on in another process."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .checkpoint import restore, save
from .config import Config
from .state import State
from .tree import Tree


def write(path: Path, state: State, config: Config) -> None:
    """Write the checkpoint of a state to an npz file. A file that exists is replaced once the new one is complete."""
    unfinished = path.with_name(f"{path.name}.part")
    with unfinished.open("wb") as file:
        np.savez(file, **save(state, config))
    unfinished.replace(path)


def read(path: Path, like: Tree, config: Config) -> State:
    """The state of a file, in mode "train"; `like` has the structure of the parameters.

    Raises ValueError for the checkpoint of another configuration, or of other parameters.
    """
    with np.load(path, allow_pickle=False) as file:
        saved = {name: file[name] for name in file.files}  # numbers have become arrays of shape ()
    return restore(saved, like, config)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92

"""The separate graders that judge several answers one after another. Runs on the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_recode.sandboxes import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseList:
    """What a grader collected: the interface of each case by its id, in the order of collection, and versions of libraries."""

    interfaces: Mapping[str, str]
    versions: Mapping[str, str]


class KeptGraders:
    """Keeps the graders of one task, one for each block of its cases, between gradings with the same seed, for answers that are not a model's.

    They have collected the tests, and run the cases of each answer in a fork. A caller grades the reference first, and believes no
    verdict if that does not pass: a library that has started threads may hang in a fork.
    """

    def __init__(self) -> None:
        self._seed = 0
        self._graders: dict[int, Connection] = {}
        self.collected: CaseList | None = None

    def take(self, seed: int, block: int) -> Connection | None:
        """The grader of a block, which is no longer kept; None if there is none for this seed."""
        if seed != self._seed:
            self.close()
        return self._graders.pop(block, None)

    def put(self, seed: int, block: int, grader: Connection) -> None:
        if seed != self._seed:
            self.close()
        self._seed = seed
        self._graders[block] = grader

    def close(self) -> None:
        """End the graders; idempotent."""
        while self._graders:
            self._graders.popitem()[1].kill()

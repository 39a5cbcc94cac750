"""A separate grader that judges several answers one after another. Runs on the host."""

from __future__ import annotations

from pytest_recode.sandboxes import Connection


class KeptGrader:
    """Keeps the grader of one task between gradings with the same seed, for answers that are not a model's.

    It has collected the tests, and runs the cases of each answer in a fork. A caller grades the reference first, and believes no
    verdict if that does not pass: a library that has started threads may hang in a fork.
    """

    def __init__(self) -> None:
        self._seed = 0
        self._grader: Connection | None = None

    def take(self, seed: int) -> Connection | None:
        """The grader, which is no longer kept; None if there is none for this seed."""
        if self._grader is not None and seed != self._seed:
            self.close()
        grader, self._grader = self._grader, None
        return grader

    def put(self, seed: int, grader: Connection) -> None:
        self._seed, self._grader = seed, grader

    def close(self) -> None:
        """End the grader; idempotent."""
        if self._grader is not None:
            self._grader.kill()
            self._grader = None

"""A separate grader that judges several answers one after another. Runs on the host."""

from __future__ import annotations

from pytest_recode.sandboxes import Connection


class KeptGrader:
    """Keeps the grader of one task between gradings with the same seed, for answers that do not want to cheat.

    What the tests keep in their modules, an answer may have changed for the next one. So a caller grades the reference last, and
    believes no verdict if it does not pass.
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

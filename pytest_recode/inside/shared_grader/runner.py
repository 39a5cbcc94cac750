"""How a kind of hidden tests is run in shared judging: the interface between `shared_judge.py` and the runner modules.

Runs in the shared judge, in one process with the candidate. Each runner module makes one `Runner` and passes it to
`shared_judge.py`. Must not hold state.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Union

from ..wire import messages

Step = Union[messages.Started, messages.Finished, messages.FinishedOfInterface, messages.Ended]
"""What a runner reports while the tests run."""
Report = Callable[[Step], None]


class Runner(NamedTuple):
    """A way to run tests. `order` is the message that `judge.prepare` gets, with `only`: the ids of the cases to run, or
    None for all."""

    run: Callable[[dict[str, Any], Report, int], None]
    """Run the tests against the candidate in the working directory, with a seed. Report `started` and `finished` of each
    case, and `ended` where cases never run."""
    hidden_modules: Callable[[dict[str, Any]], Iterable[str]]
    """The names of modules that belong to the tests alone."""
    external_imports: Callable[[dict[str, Any]], Iterable[str]]
    """The names of modules from outside the repository that the tests will import."""

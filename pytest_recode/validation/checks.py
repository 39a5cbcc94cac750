"""The checks of a task: answers that need no model, with the verdict that each must get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from pytest_recode.simulated.slot_edits import broken
from pytest_recode.slots import emptied
from pytest_recode.task import Files, Parts, ProofPart, Proofs, Task, WrongAnswer
from pytest_recode.validation.brief import brief_findings
from pytest_recode.validation.canary import canary_problem

RAISES = "ValueError"
"""The name of the constant answer that raises this exception."""
CONSTANTS = {
    "an empty array": "return numpy.zeros((0, 1, 1))",
    "two empty arrays": "return numpy.zeros((0, 1, 1)), numpy.zeros((0, 1, 1))",
    "nan": "return float('nan')",
    "0.0": "return 0.0",
    "True": "return True",
    "None": "return None",
    "[]": "return []",
    "its first argument": "return args[0] if args else None",
    RAISES: f"raise {RAISES}('no')",
}
"""Constant results of a meaningless module. An empty array passes `==`, approx and np.testing against a scalar."""

_NUMPY = """\
try:
    import numpy
except ImportError:
    numpy = None


"""
_MODULE = """\
def answer(*args, **named):
    {body}


class Answers:
    def __init__(self, *args, **named):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return answer

    __call__ = staticmethod(answer)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Answers if name[:1].isupper() else answer
"""

SLOT_MUTANTS = 5
"""The number of mutants of the authors' lines of a part of a file, with one mistake each: enough to recognize a test that detects nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One candidate. `violates`: the requirement that a wrong answer violates. `constant`: what a constant answer returns."""

    name: str
    targets: Files
    violates: WrongAnswer | None = None
    constant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Answers, and whether each must solve the task; None: count the share that fails.

    `seeded`: grade each answer with several secret seeds. `alone`: in a grader of its own each time, as in an episode. `means_nothing`:
    a case that such an answer passes is weak. `mutated`: the interface whose code in the reference is mutated. `reads`: the part of the
    proofs that the check needs. `mutated_right`: the right answer whose code, for all interfaces, is mutated. `by_solution`: the answer is what the
    task's solution script leaves, if `must_solve`, else what nothing at all leaves. `inspects`: the problem and the warning that the task's files show, for a check that grades nothing.
    """

    name: str
    answers: Callable[[Task, Parts, Proofs], list[Answer]]
    must_solve: bool | None
    seeded: bool = False
    alone: bool = False
    means_nothing: bool = False
    mutated: str = ""
    mutated_right: str = ""
    reads: ProofPart | None = None
    inspects: Callable[[Task, Parts], tuple[str, str]] | None = None
    by_solution: bool = False


def _constant(body: str) -> str:
    """A module whose functions have this body. It imports numpy only if it needs it, because the import takes longer than the grading."""
    return (_NUMPY if "numpy" in body else "") + _MODULE.format(body=body)


def proofs_of(task: Task, part: ProofPart | None) -> Proofs:
    """One part of the proofs of `task`, or none; empty if it has none. Raises `UserError`."""
    return Proofs() if part is None or part not in task.proofs else task.proofs[part]()


def checks(task: Task, *, right_mutants: bool = False) -> tuple[Check, ...]:
    """The checks of `task`, in the order in which they run. `right_mutants`: also those that mutate its right answers. Raises `UserError`."""
    if task.oracle.isolation == "verifier":
        return VERIFIER_CHECKS
    if task.oracle.script:
        return (BRIEF_CHECK, *SLOT_CHECKS)
    if task.oracle.beside is not None:
        return (BRIEF_CHECK, *CHECKS)  # one grading of a benchmark's tests takes seconds, so mutants would take hours
    marked = (CANARY_CHECK,) if task.canary else ()
    proved = (check for check in PROOF_CHECKS if check.reads in task.proofs)
    right = proofs_of(task, "right").right if right_mutants else {}
    return (
        BRIEF_CHECK,
        *marked,
        *CHECKS,
        *proved,
        *(_mutation(name, mutated=name) for name in task.interfaces),
        *(_mutation(f"right-{name}", mutated_right=name) for name in right),
    )


CHECKS = (
    Check(
        name="reference",
        answers=lambda _task, parts, _proofs: [Answer(name="the reference", targets=parts.reference)],
        must_solve=True,
        seeded=True,
        alone=True,
    ),
    Check(
        name="untouched",
        answers=lambda task, parts, _proofs: [
            Answer(
                name="the untouched target",
                targets={path: parts.repo[path] for path in task.targets if path in parts.repo},
            )
        ],
        must_solve=False,
        means_nothing=True,
    ),
    Check(
        name="empty",
        answers=lambda task, _parts, _proofs: [
            Answer(name="the empty target", targets=dict.fromkeys(task.targets, b""))
        ],
        must_solve=False,
        means_nothing=True,
    ),
    Check(
        name="constant",
        answers=lambda task, _parts, _proofs: [
            Answer(
                name=f"a target that answers {name} to everything",
                targets=dict.fromkeys(task.targets, _constant(body).encode()),
                constant=name,
            )
            for name, body in CONSTANTS.items()
        ],
        must_solve=False,
        means_nothing=True,
    ),
)

BRIEF_CHECK = Check(name="brief", answers=lambda *_: [], must_solve=None, inspects=brief_findings)
CANARY_CHECK = Check(
    name="canary", answers=lambda *_: [], must_solve=None, inspects=lambda task, _parts: (canary_problem(task), "")
)

PROOF_CHECKS = (
    Check(
        name="right",
        answers=lambda _task, _parts, proofs: [
            Answer(name=f"proofs/right/{name}", targets=targets) for name, targets in proofs.right.items()
        ],
        must_solve=True,
        seeded=True,
        reads="right",
    ),
    Check(
        name="wrong",
        answers=lambda _task, _parts, proofs: [
            Answer(name=f"proofs/wrong/{wrong.name}", targets=wrong.targets, violates=wrong) for wrong in proofs.wrong
        ],
        must_solve=False,
        seeded=True,
        reads="wrong",
    ),
)

SLOT_CHECKS = (
    replace(CHECKS[0], seeded=False),  # the reference is compared with itself, whatever the seed
    Check(
        name="removed",
        answers=lambda _task, parts, _proofs: [Answer(name="the removed block", targets=_removed(parts))],
        must_solve=False,
    ),
    Check(name="mutants", answers=lambda task, parts, _proofs: _slot_mutants(task, parts), must_solve=None),
)
"""Checks of a task that asks for a part of a file, for which the other checks mean nothing."""


VERIFIER_CHECKS = (
    Check(name="oracle", answers=lambda *_: [], must_solve=True, alone=True, by_solution=True),
    Check(name="nop", answers=lambda *_: [], must_solve=False, by_solution=True),
)
"""Checks of a task that a script judges: whether its solution is solved, and whether no answer at all is not. Harbor's names."""


def _mutation(name: str, *, mutated: str = "", mutated_right: str = "") -> Check:
    """A separate check for each interface and each right answer, so that they run in parallel; `validate` creates the mutants."""
    return Check(
        name=f"mutants-{name}",
        answers=lambda _task, _parts, _proofs: [],
        must_solve=None,
        mutated=mutated,
        mutated_right=mutated_right,
        reads="equivalent",
    )


def _removed(parts: Parts) -> Files:
    slot = parts.slot
    assert slot is not None
    text = parts.repo[slot.path].decode("utf-8", "surrogateescape")
    return {slot.path: emptied(text, slot).encode("utf-8", "surrogateescape")}


def _slot_mutants(task: Task, parts: Parts) -> list[Answer]:
    slot = parts.slot
    assert slot is not None
    made = [broken(parts, Random(f"{task.id}/{number}"), 1) for number in range(3 * SLOT_MUTANTS)]
    untouched = parts.repo[slot.path].decode("utf-8", "replace")
    texts = [text for text in dict.fromkeys(made) if text is not None and text != untouched][:SLOT_MUTANTS]
    return [Answer(name=f"slip {number}", targets={slot.path: text.encode()}) for number, text in enumerate(texts, 1)]

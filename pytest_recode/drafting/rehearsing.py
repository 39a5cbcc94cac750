"""Call a function with drawn inputs in fresh sandboxes: which inputs does it accept, and does it always return the same?"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_recode.drafting.recording import LIMITS, SENDING_SECONDS
from pytest_recode.inside.wire import frames
from pytest_recode.sandboxes import Sandbox
from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Environment, Files

SECONDS = 300.0  # of one process
CALL_SECONDS = 2.0
_MOST_MESSAGE = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One call with drawn inputs. `problem`: "" if it returned finite plain data in time. `differs`: how from an earlier process.

    `constant`: the meaningless answer that its result is equivalent to, or "".
    """

    problem: str
    modified: bool = False
    effects: tuple[tuple[str, str, str], ...] = ()
    constant: str = ""
    differs: str = ""
    result: bytes = b""

    @property
    def accepted(self) -> bool:
        return not self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """`trials`: by case and seed. `error`: why the target could not be imported, or how the process ended."""

    trials: dict[tuple[str, int], Trial]
    error: str = ""


def rehearse(
    sandbox: Sandbox,
    files: Files,
    *,
    module: str,
    source: str,
    cases: Sequence[tuple[Sequence[str], str]],
    seeds: Sequence[int],
    expected: Mapping[tuple[str, int], bytes],
) -> Rehearsal:
    """Call the functions of `cases`: for each, the names of functions in `source` that draw inputs, until one is accepted under all seeds.

    Raises `SandboxError`, `UserError`.
    """
    trials: dict[tuple[str, int], Trial] = {}
    remaining = list(cases)
    deadline = time.monotonic() + SECONDS
    while remaining:
        request = {
            "files": dict(files),
            "module": module,
            "source": source,
            "cases": [[list(alternatives), function] for alternatives, function in remaining],
            "seeds": list(seeds),
            "seconds": CALL_SECONDS,
            "expected": {f"{case} {seed}": data for (case, seed), data in expected.items()},
        }
        error = _process(sandbox, request, trials, deadline)
        if not error:
            return Rehearsal(trials=trials)
        lost = next((key for key, trial in trials.items() if trial.problem == _STARTED), None)
        if lost is None:
            return Rehearsal(trials=trials, error=error)
        trials[lost] = Trial(problem=f"the process {error}")
        # go on behind the inputs that ended the process
        at = next(i for i, (alternatives, _) in enumerate(remaining) if lost[0] in alternatives)
        alternatives, function = remaining[at]
        rest = alternatives[alternatives.index(lost[0]) + 1 :]
        remaining = [*([(rest, function)] if rest else []), *remaining[at + 1 :]]
        if time.monotonic() > deadline:
            return Rehearsal(trials=trials, error=f"took more than {SECONDS:g} s")
    return Rehearsal(trials=trials)


_STARTED = "started"


def _process(sandbox: Sandbox, request: Any, trials: dict[tuple[str, int], Trial], deadline: float) -> str:
    """One process. Returns how it ended if it did not end in order."""
    connection = sandbox.launch(program("call-rehearsal", "recording.rehearsal"), Environment(), LIMITS)
    try:
        frames.send_message(connection, request, time.monotonic() + SENDING_SECONDS)
        while True:
            message = frames.receive_message(connection, _MOST_MESSAGE, deadline)
            if "end" in message:
                return str(message["end"]["error"])
            if "starts" in message:
                case, seed = message["starts"]
                trials[str(case), int(seed)] = Trial(problem=_STARTED)
                continue
            trials[str(message["case"]), int(message["seed"])] = _trial(message)
    except TimeoutError:
        return f"took more than {SECONDS:g} s"
    except (EOFError, ConnectionError) as error:
        return connection.kill() or str(error)
    except (frames.WireError, KeyError, TypeError, ValueError) as error:
        return f"sent a report that cannot be read ({error})"
    finally:
        connection.kill()


def _trial(message: Any) -> Trial:
    problem = str(message["problem"])
    if not problem and not message["finite"]:
        problem = "returned NaN or infinite numbers"
    return Trial(
        problem=problem,
        modified=bool(message["modified"]),
        effects=tuple((str(kind), str(place), str(detail)) for kind, place, detail in message["effects"]),
        constant=str(message["constant"]),
        differs=str(message["differs"]),
        result=bytes(message.get("result", b"")),
    )

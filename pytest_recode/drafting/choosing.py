"""Choose how the inputs of recorded calls are drawn, by running the function on them, and check that results repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_recode.drafting.code_repository import Closure, Repository, RepositoryModule
from pytest_recode.drafting.draft import DraftedCase, drawing_source, repository_files
from pytest_recode.drafting.findings import Finding, hazards
from pytest_recode.drafting.generators import NotDrawable, source_of
from pytest_recode.drafting.licences import Licence
from pytest_recode.drafting.plans import PLANS, drawn_sizes, fixed_sizes
from pytest_recode.drafting.recorded_values import RecordedCall, outline
from pytest_recode.drafting.rehearsing import Rehearsal, Trial, rehearse
from pytest_recode.faults import UserError
from pytest_recode.inside.recording.rehearsal import LEAST_SEEDS
from pytest_recode.sandboxes import Sandbox

SEEDS = tuple(range(50))
"""Under which the reference must accept the inputs of a case; fewer for a slow function, but `LEAST_SEEDS`."""


Chosen = dict[str, list[DraftedCase]]
Results = dict[tuple[str, int], bytes]


def most_different(calls: Sequence[RecordedCall], most: int) -> list[RecordedCall]:
    """At most `most` calls, one after the other that which differs most from those before: in types, shapes and texts, then in the number of
    arguments with other numbers."""
    left, chosen = list(calls), list[RecordedCall]()
    kinds: set[object] = set()
    numbers: set[tuple[str, object]] = set()

    def newness(call: RecordedCall) -> tuple[bool, int]:
        return _kind(call) not in kinds, len(_numbers(call) - numbers)

    while left and len(chosen) < most:
        best = max(left, key=newness)  # the earliest of equals
        left.remove(best)
        chosen.append(best)
        kinds.add(_kind(best))
        numbers.update(_numbers(best))
    return chosen


def _kind(call: RecordedCall) -> object:
    return tuple((name, outline(value, numbers=False)) for name, value in call.arguments)


def _numbers(call: RecordedCall) -> set[tuple[str, object]]:
    return {(name, outline(value, numbers=True)) for name, value in call.arguments}


def rehearsed(
    sandbox: Sandbox,
    repository: Repository,
    module: RepositoryModule,
    licence: Licence,
    closures: tuple[Closure, Closure],
    calls: Mapping[str, Sequence[RecordedCall]],
    refused: dict[str, list[Finding]],
    notes: dict[str, list[str]],
) -> tuple[Closure, Chosen, Results]:
    """The closest closure that can be imported, and for each call the freest inputs that its function accepts."""
    drafts: dict[str, DraftedCase] = {}
    cases: list[tuple[list[str], str]] = []
    for name, recorded_calls in calls.items():
        fixed = fixed_sizes(recorded_calls)
        for number, call in enumerate(recorded_calls, 1):
            alternatives = _alternatives(name, number, call, fixed)
            drafts |= {case.name: case for case in alternatives}
            cases.append(([case.name for case in alternatives], name))
    source = drawing_source([each.source for each in drafts.values()])
    rehearsal = Rehearsal(trials={}, error="")
    closure = closures[0]
    for closure in closures:
        files = _as_bytes(repository_files(closure, repository, module, licence, module.source))
        rehearsal = rehearse(sandbox, files, module=module.name, source=source, cases=cases, seeds=SEEDS, expected={})
        if rehearsal.trials:
            break
    if not rehearsal.trials:
        raise UserError(
            f"{module.name}: cannot be imported from the modules that it imports statically ({', '.join(sorted(closure.modules))}):"
            f" {rehearsal.error}: choose a module whose imports are import statements, and that reads no files while it is imported"
        )
    chosen: Chosen = {}
    results: Results = {}
    for names, name in cases:
        case = next((candidate for candidate in names if _accepted(rehearsal, candidate)), None)
        if case is None:
            tried = [
                trial.problem
                for candidate in names
                for seed in SEEDS
                if (trial := rehearsal.trials.get((candidate, seed)))
            ]
            reason = next((problem for problem in reversed(tried) if problem), "its arrays are too large to be kept")
            notes[name].append(f"a recorded call became no case: with inputs like its own, the function {reason}")
            continue
        if any(_body(drafts[case]) == _body(other) for other in chosen.get(name, ())):  # which draws the same
            continue
        trials = _trials(rehearsal, case)
        final = f"{name}_{len(chosen.get(name, [])) + 1}"
        draft = drafts[case]
        chosen.setdefault(name, []).append(
            replace(
                draft,
                name=final,
                source=draft.source.replace(f"def {case}(", f"def {final}(", 1),
                modified=any(trial.modified for trial in trials),
            )
        )
        results |= {(final, seed): trials[seed].result for seed in SEEDS[:LEAST_SEEDS]}
        effects = [
            Finding(kind=kind, place=place, detail=detail) for trial in trials for kind, place, detail in trial.effects
        ]
        if effects:
            known = list(dict.fromkeys([*refused.get(name, []), *effects]))
            refused[name] = list(dict.fromkeys([*known, *by_reading(closure, module, name, known)]))
    for name in calls:
        own_cases = chosen.get(name, [])
        constants = {
            rehearsal.trials[key].constant
            for key in rehearsal.trials
            if _is_of(drafts[key[0]], name) and rehearsal.trials[key].accepted
        }
        if not own_cases:
            refused[name] = [Finding(kind="inputs", place="", detail="; ".join(notes[name]) or "none could be drawn")]
        elif len(constants) == 1 and constants != {""}:
            what = constants.pop()
            why = (
                "what it computes is what it writes into its arguments, and a candidate gets copies of them"
                if what == "None"
                else "tests could not tell it from code that always does"
            )
            refused[name] = [Finding(kind="result", place="", detail=f"it always returns {what}: {why}")]
    return closure, {name: own_cases for name, own_cases in chosen.items() if name not in refused}, results


def _is_of(case: DraftedCase, name: str) -> bool:
    return case.call.function == name


def _body(case: DraftedCase) -> list[str]:
    """The statements that draw, without name and docstring."""
    return case.source.splitlines()[2:]


def _trials(rehearsal: Rehearsal, case: str) -> list[Trial]:
    return [rehearsal.trials[case, seed] for seed in SEEDS if (case, seed) in rehearsal.trials]


def _accepted(rehearsal: Rehearsal, case: str) -> bool:
    trials = _trials(rehearsal, case)
    return len(trials) >= LEAST_SEEDS and all(each.accepted for each in trials)


def _alternatives(name: str, number: int, call: RecordedCall, fixed: frozenset[int]) -> list[DraftedCase]:
    """The inputs of a call by every plan that fits, without those that draw the same as an earlier one."""
    by_body: dict[str, DraftedCase] = {}
    for step, plan in enumerate(PLANS):
        case = f"{name}_{number}_{step}"
        try:
            sizes = drawn_sizes(call, plan, fixed)
            source = source_of(case, call, plan, sizes)
        except NotDrawable:
            continue
        body = source.replace(case, "", 1).replace(plan.words or " ", "")
        by_body.setdefault(
            body, DraftedCase(name=case, source=source, call=call, words=plan.words, sizes=sizes.names, modified=False)
        )
    return list(by_body.values())


def _as_bytes(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode("utf-8", "replace") for path, text in files.items()}


def repeated(
    sandbox: Sandbox,
    repository: Repository,
    module: RepositoryModule,
    licence: Licence,
    closure: Closure,
    chosen: Chosen,
    results: Results,
    repetitions: int,
    refused: dict[str, list[Finding]],
) -> Chosen:
    """The cases whose functions return the same in fresh processes; the others are refused."""
    if not chosen:
        return {}
    files = _as_bytes(repository_files(closure, repository, module, licence, module.source))
    source = drawing_source([case.source for own_cases in chosen.values() for case in own_cases])
    cases = [([case.name], name) for name, own_cases in chosen.items() for case in own_cases]
    owner = {case.name: name for name, own_cases in chosen.items() for case in own_cases}
    for _ in range(repetitions - 1):
        again = rehearse(
            sandbox, files, module=module.name, source=source, cases=cases, seeds=SEEDS[:LEAST_SEEDS], expected=results
        )
        for (case, seed), trial in again.trials.items():
            why = trial.differs or (trial.problem and f"in another process, it {trial.problem}")
            if why and owner[case] not in refused:
                detail = f"different results for the same inputs in fresh processes (seed {seed}): {why}"
                refused[owner[case]] = [
                    Finding(kind="not deterministic", place="", detail=detail),
                    *(
                        hazard
                        for hazard in hazards(closure.modules, module.name, owner[case])
                        if hazard.kind.startswith("randomness")
                    ),
                ]
        if again.error:
            raise UserError(f"{module.name}: the process that repeats its calls {again.error}")
    return {name: own_cases for name, own_cases in chosen.items() if name not in refused}


def by_reading(needed: Closure, module: RepositoryModule, name: str, known: Sequence[Finding]) -> list[Finding]:
    """Places in the code of what the calls did, or everything if there was no call."""
    kinds = {finding.kind for finding in known}
    findings = hazards(needed.modules, module.name, name)
    return (
        findings
        if "no recorded call" in kinds
        else [finding for finding in findings if finding.kind in kinds and finding not in known]
    )

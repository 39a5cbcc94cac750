"""Cut functions out of a repository: record calls, choose how their inputs are drawn, check that results repeat, and collect what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_recode.drafting.draft import Case, drawing_source, repository_files
from pytest_recode.drafting.findings import Finding, hazards, kind_of_function
from pytest_recode.drafting.generators import NotDrawable, source_of
from pytest_recode.drafting.licences import Licence, permitted
from pytest_recode.drafting.plans import PLANS, drawn_sizes, fixed_sizes
from pytest_recode.drafting.programs import given_run, test_runs
from pytest_recode.drafting.recorded_values import Call
from pytest_recode.drafting.recording import Recording, record
from pytest_recode.drafting.rehearsing import Rehearsal, Trial, rehearse
from pytest_recode.drafting.repository import Closure, Module, Repository, closure, files_of, find
from pytest_recode.faults import UserError
from pytest_recode.inside.recording.rehearsal import LEAST_SEEDS
from pytest_recode.sandboxes import Sandbox

MOST_CALLS = 6
"""Recorded calls of one function, distinct in types, shapes and texts."""
SEEDS = tuple(range(50))
"""Under which the reference must accept the inputs of a case; fewer for a slow function, but `LEAST_SEEDS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What came out. `cases`: by function that can be cut. `refused`: by function, why it cannot. `notes`: by function, what a person must look at."""

    repository: Repository
    target: Module
    licence: Licence
    closure: Closure
    cases: Mapping[str, Sequence[Case]]
    refused: Mapping[str, Sequence[Finding]]
    notes: Mapping[str, Sequence[str]]
    versions: Mapping[str, tuple[str, str] | None]
    recorded: Mapping[str, tuple[int, int]]  # calls that were kept, of all
    large: tuple[str, ...]


def cut(
    place: Path,
    target: str,
    functions: Sequence[str],
    sandbox: Sandbox,
    *,
    runs: Sequence[str],
    licence: str,
    repetitions: int,
) -> Cut:
    """Try to cut `functions` out of the module `target`. Raises `UserError`, `SandboxError`."""
    repository, module = find(place, target)
    allowed = permitted(place, licence)
    refused: dict[str, list[Finding]] = {}
    for name in dict.fromkeys(functions):
        found = kind_of_function(module, name)
        if found is not None and found.kind == "unknown":
            raise UserError(f"{target}:{name}: {found.place} {found.detail}")
        if found is not None:
            refused[name] = [found]
    plain = [name for name in dict.fromkeys(functions) if name not in refused]
    files, large = files_of(repository)
    slim = closure(repository, module, whole_packages=False)
    whole = closure(repository, module, whole_packages=True)
    recordings = _recordings(sandbox, repository, files, module, plain, runs, whole) if plain else []
    calls = {name: _distinct(recordings, name) for name in plain}
    recorded = {
        name: (len(calls[name]), sum(each.counts.get((name, "calls"), 0) for each in recordings)) for name in plain
    }
    notes: dict[str, list[str]] = {name: _unrecorded(recordings, name) for name in plain}
    for name in plain:
        found_here = _of_calls(calls[name], recordings, name)
        if found_here:
            refused[name] = [*found_here, *_by_reading(whole, module, name, found_here)]
    kept = [name for name in plain if name not in refused]
    cases: dict[str, list[Case]] = {}
    made = slim
    if kept:
        made, chosen, results = _rehearsed(
            sandbox, repository, module, allowed, (slim, whole), {name: calls[name] for name in kept}, refused, notes
        )
        cases = _repeated(sandbox, repository, module, allowed, made, chosen, results, repetitions, refused)
    for name in cases:
        notes[name] += [
            f"no recorded call did what reading the code shows: {each}"
            for each in hazards(made.modules, module.name, name)
        ]
    versions = {name: found for each in recordings for name, found in each.versions.items()}
    wanted = {"numpy", *made.others}
    return Cut(
        repository=repository,
        target=module,
        licence=allowed,
        closure=made,
        cases=cases,
        refused=refused,
        notes=notes,
        versions={name: found for name, found in versions.items() if name in wanted},
        recorded=recorded,
        large=large,
    )


def _recordings(
    sandbox: Sandbox,
    repository: Repository,
    files: Mapping[str, bytes],
    module: Module,
    functions: Sequence[str],
    runs: Sequence[str],
    needed: Closure,
) -> list[Recording]:
    """Programs that the user names first, then tests until each function has calls. Raises `UserError` if nothing can be run."""
    given = [given_run(text, files) for text in runs]
    tests = test_runs(files, module.name, functions)
    if not given and not tests:
        raise UserError(
            f"{repository.place}: has no tests (test_*.py) whose calls could be recorded: name a program that calls the functions, such as"
            ' --run "python examples/x.py"'
        )
    made: list[Recording] = []
    for command in [*given, *tests]:
        if command in tests and made and all(_distinct(made, name) for name in functions):
            break
        made.append(
            record(
                sandbox,
                files,
                root=repository.root,
                module=module.name,
                functions=functions,
                command=command,
                imports=sorted({"numpy", *needed.others}),
                most=MOST_CALLS,
            )
        )
        if made[-1].error:
            raise UserError(
                f"{module.name}: cannot be imported in the sandbox: {' '.join(made[-1].error.split())}: start pytest-recode with an interpreter in which"
                " the repository's requirements are installed; modules that a build writes must be in the clone, as after pip install -e"
            )
    return made


def _distinct(recordings: Sequence[Recording], name: str) -> list[Call]:
    calls = [call for each in recordings for call in each.calls if call.function == name]
    return list({str((call.args, call.kwargs)): call for call in calls}.values())[:MOST_CALLS]


def _unrecorded(recordings: Sequence[Recording], name: str) -> list[str]:
    counts: dict[str, int] = {}
    for each in recordings:
        for (function, what), count in each.counts.items():
            if function == name and what != "calls":
                counts[what] = counts.get(what, 0) + count
    return [f"{count} call{'s' if count > 1 else ''} not recorded: {what}" for what, count in counts.items()]


def _of_calls(calls: Sequence[Call], recordings: Sequence[Recording], name: str) -> list[Finding]:
    """Why the function cannot be cut, as its recorded calls show; empty if it can."""
    if not calls:
        why = "; ".join(_unrecorded(recordings, name))
        if not why:
            ran = "; ".join(f"{each.command} {each.ended}" if each.ended else each.command for each in recordings)
            said = next(
                (line for each in recordings for line in reversed(each.output.splitlines()) if line.strip()), ""
            )
            why = f"nothing called it in: {ran}{f' (its last line: {said.strip()})' if said else ''}; name a program that does with --run"
        return [Finding(kind="no recorded call", place="", detail=why)]
    found = [Finding(kind=kind, place=place, detail=detail) for call in calls for kind, place, detail in call.effects]
    found += [
        Finding(kind="result", place="", detail=f"its result cannot travel: {call.result}")
        for call in calls
        if call.result
    ]
    return list(dict.fromkeys(found))


def _by_reading(needed: Closure, module: Module, name: str, known: Sequence[Finding]) -> list[Finding]:
    """Places in the code of what the calls did, or everything if there was no call."""
    kinds = {each.kind for each in known}
    found = hazards(needed.modules, module.name, name)
    return (
        found if "no recorded call" in kinds else [each for each in found if each.kind in kinds and each not in known]
    )


Chosen = dict[str, list[Case]]
Results = dict[tuple[str, int], bytes]


def _rehearsed(
    sandbox: Sandbox,
    repository: Repository,
    module: Module,
    licence: Licence,
    closures: tuple[Closure, Closure],
    calls: Mapping[str, Sequence[Call]],
    refused: dict[str, list[Finding]],
    notes: dict[str, list[str]],
) -> tuple[Closure, Chosen, Results]:
    """The closest closure that can be imported, and for each call the freest inputs that its function accepts."""
    drafts: dict[str, Case] = {}
    cases: list[tuple[list[str], str]] = []
    for name, found in calls.items():
        fixed = fixed_sizes(found)
        for number, call in enumerate(found, 1):
            alternatives = _alternatives(name, number, call, fixed)
            drafts |= {each.name: each for each in alternatives}
            cases.append(([each.name for each in alternatives], name))
    source = drawing_source([each.source for each in drafts.values()])
    rehearsal = Rehearsal(trials={}, error="")
    made = closures[0]
    for made in closures:
        files = _as_bytes(repository_files(made, repository, module, licence, module.source))
        rehearsal = rehearse(sandbox, files, module=module.name, source=source, cases=cases, seeds=SEEDS, expected={})
        if rehearsal.trials:
            break
    if not rehearsal.trials:
        raise UserError(
            f"{module.name}: cannot be imported from the modules that it imports statically ({', '.join(sorted(made.modules))}):"
            f" {rehearsal.error}: choose a module whose imports are import statements, and that reads no files while it is imported"
        )
    chosen: Chosen = {}
    results: Results = {}
    for names, name in cases:
        case = next((each for each in names if _accepted(rehearsal, each)), None)
        if case is None:
            tried = [trial.problem for each in names for seed in SEEDS if (trial := rehearsal.trials.get((each, seed)))]
            said = next((each for each in reversed(tried) if each), "its arrays are too large to be kept")
            notes[name].append(f"a recorded call became no case: with inputs like its own, the function {said}")
            continue
        trials = _trials(rehearsal, case)
        final = f"{name}_{len(chosen.get(name, [])) + 1}"
        draft = drafts[case]
        chosen.setdefault(name, []).append(
            replace(
                draft,
                name=final,
                source=draft.source.replace(f"def {case}(", f"def {final}(", 1),
                modified=any(each.modified for each in trials),
            )
        )
        results |= {(final, seed): trials[seed].result for seed in SEEDS[:LEAST_SEEDS]}
        effects = [
            Finding(kind=kind, place=place, detail=detail) for each in trials for kind, place, detail in each.effects
        ]
        if effects:
            known = list(dict.fromkeys([*refused.get(name, []), *effects]))
            refused[name] = list(dict.fromkeys([*known, *_by_reading(made, module, name, known)]))
    for name in calls:
        found_cases = chosen.get(name, [])
        constants = {
            rehearsal.trials[key].constant
            for key in rehearsal.trials
            if _is_of(drafts[key[0]], name) and rehearsal.trials[key].accepted
        }
        if not found_cases:
            refused[name] = [Finding(kind="inputs", place="", detail="; ".join(notes[name]) or "none could be drawn")]
        elif len(constants) == 1 and constants != {""}:
            what = constants.pop()
            why = (
                "what it computes is what it writes into its arguments, and a candidate gets copies of them"
                if what == "None"
                else "tests could not tell it from code that always does"
            )
            refused[name] = [Finding(kind="result", place="", detail=f"it always returns {what}: {why}")]
    return made, {name: found for name, found in chosen.items() if name not in refused}, results


def _is_of(case: Case, name: str) -> bool:
    return case.call.function == name


def _trials(rehearsal: Rehearsal, case: str) -> list[Trial]:
    return [rehearsal.trials[case, seed] for seed in SEEDS if (case, seed) in rehearsal.trials]


def _accepted(rehearsal: Rehearsal, case: str) -> bool:
    trials = _trials(rehearsal, case)
    return len(trials) >= LEAST_SEEDS and all(each.accepted for each in trials)


def _alternatives(name: str, number: int, call: Call, fixed: frozenset[int]) -> list[Case]:
    """The inputs of a call by every plan that fits, without those that draw the same as an earlier one."""
    made: dict[str, Case] = {}
    for step, plan in enumerate(PLANS):
        case = f"{name}_{number}_{step}"
        try:
            source = source_of(case, call, plan, drawn_sizes(call, plan, fixed))
        except NotDrawable:
            continue
        body = source.replace(case, "", 1).replace(plan.words or " ", "")
        made.setdefault(body, Case(name=case, source=source, call=call, words=plan.words, modified=False))
    return list(made.values())


def _as_bytes(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode("utf-8", "replace") for path, text in files.items()}


def _repeated(
    sandbox: Sandbox,
    repository: Repository,
    module: Module,
    licence: Licence,
    made: Closure,
    chosen: Chosen,
    results: Results,
    repetitions: int,
    refused: dict[str, list[Finding]],
) -> Chosen:
    """The cases whose functions return the same in fresh processes; the others are refused."""
    if not chosen:
        return {}
    files = _as_bytes(repository_files(made, repository, module, licence, module.source))
    source = drawing_source([case.source for found in chosen.values() for case in found])
    cases = [([case.name], name) for name, found in chosen.items() for case in found]
    owner = {case.name: name for name, found in chosen.items() for case in found}
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
                        each
                        for each in hazards(made.modules, module.name, owner[case])
                        if each.kind.startswith("randomness")
                    ),
                ]
        if again.error:
            raise UserError(f"{module.name}: the process that repeats its calls {again.error}")
    return {name: found for name, found in chosen.items() if name not in refused}

"""Cut functions out of a repository: record calls, have inputs chosen and results repeated, and collect what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.drafting.choosing import by_reading, most_different, rehearsed, repeated
from pytest_recode.drafting.code_repository import Closure, Repository, RepositoryModule, closure, files_of, find
from pytest_recode.drafting.draft import DraftedCase
from pytest_recode.drafting.findings import Finding, hazards, kind_of_function
from pytest_recode.drafting.licences import Licence, permitted
from pytest_recode.drafting.recorded_programs import given_run, test_runs
from pytest_recode.drafting.recorded_values import RecordedCall
from pytest_recode.drafting.recording import Recording, record
from pytest_recode.faults import UserError
from pytest_recode.sandboxes import Sandbox

MOST_CALLS = 6
"""Recorded calls of one function that become cases: of different types, shapes and texts, then of different numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutRepository:
    """What came out. `cases`: by function that can be cut. `refused`: by function, why it cannot. `notes`: by function, what a person must look at."""

    repository: Repository
    target: RepositoryModule
    licence: Licence
    closure: Closure
    cases: Mapping[str, Sequence[DraftedCase]]
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
) -> CutRepository:
    """Try to cut `functions` out of the module `target`. Raises `UserError`, `SandboxError`."""
    repository, module = find(place, target)
    allowed = permitted(place, licence)
    refused: dict[str, list[Finding]] = {}
    for name in dict.fromkeys(functions):
        obstacle = kind_of_function(module, name)
        if obstacle is not None and obstacle.kind == "unknown":
            raise UserError(f"{target}:{name}: {obstacle.place} {obstacle.detail}")
        if obstacle is not None:
            refused[name] = [obstacle]
    plain = [name for name in dict.fromkeys(functions) if name not in refused]
    files, large = files_of(repository)
    slim = closure(repository, module, whole_packages=False)
    whole = closure(repository, module, whole_packages=True)
    recordings = _recordings(sandbox, repository, files, module, plain, runs, whole) if plain else []
    calls = {name: _distinct(recordings, name) for name in plain}
    recorded = {
        name: (len(calls[name]), sum(recording.counts.get((name, "calls"), 0) for recording in recordings))
        for name in plain
    }
    notes: dict[str, list[str]] = {name: _unrecorded(recordings, name) for name in plain}
    for name in plain:
        found_here = _of_calls(calls[name], recordings, name)
        if found_here:
            refused[name] = [*found_here, *by_reading(whole, module, name, found_here)]
    recordable = [name for name in plain if name not in refused]
    cases: dict[str, list[DraftedCase]] = {}
    used_closure = slim
    if recordable:
        used_closure, chosen, results = rehearsed(
            sandbox,
            repository,
            module,
            allowed,
            (slim, whole),
            {name: calls[name] for name in recordable},
            refused,
            notes,
        )
        cases = repeated(sandbox, repository, module, allowed, used_closure, chosen, results, repetitions, refused)
    for name in cases:
        notes[name] += [
            f"no recorded call did what reading the code shows: {hazard}"
            for hazard in hazards(used_closure.modules, module.name, name)
        ]
    versions = {name: version for recording in recordings for name, version in recording.versions.items()}
    needed = {"numpy", *used_closure.others}
    return CutRepository(
        repository=repository,
        target=module,
        licence=allowed,
        closure=used_closure,
        cases=cases,
        refused=refused,
        notes=notes,
        versions={name: version for name, version in versions.items() if name in needed},
        recorded=recorded,
        large=large,
    )


def _recordings(
    sandbox: Sandbox,
    repository: Repository,
    files: Mapping[str, bytes],
    module: RepositoryModule,
    functions: Sequence[str],
    runs: Sequence[str],
    needed: Closure,
) -> list[Recording]:
    """Programs that the user names first, then tests until each function has calls. Raises `UserError` if nothing can be run."""
    programs = [given_run(text, files) for text in runs]
    tests = test_runs(files, module.name, functions)
    if not programs and not tests:
        raise UserError(
            f"{repository.place}: has no tests (test_*.py) whose calls could be recorded: name a program that calls the functions, such as"
            ' --run "python examples/x.py"'
        )
    recordings: list[Recording] = []
    for command in [*programs, *tests]:
        if command in tests and recordings and all(_distinct(recordings, name) for name in functions):
            break
        recordings.append(
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
        if recordings[-1].error:
            raise UserError(
                f"{module.name}: cannot be imported in the sandbox: {' '.join(recordings[-1].error.split())}: start pytest-recode with an interpreter in which"
                " the repository's requirements are installed; modules that a build writes must be in the clone, as after pip install -e"
            )
    return recordings


def _distinct(recordings: Sequence[Recording], name: str) -> list[RecordedCall]:
    calls = [call for each in recordings for call in each.calls if call.function == name]
    return most_different(list({str((call.args, call.kwargs)): call for call in calls}.values()), MOST_CALLS)


def _unrecorded(recordings: Sequence[Recording], name: str) -> list[str]:
    counts: dict[str, int] = {}
    for each in recordings:
        for (function, what), count in each.counts.items():
            if function == name and what != "calls":
                counts[what] = counts.get(what, 0) + count
    return [f"{count} call{'s' if count > 1 else ''} not recorded: {what}" for what, count in counts.items()]


def _of_calls(calls: Sequence[RecordedCall], recordings: Sequence[Recording], name: str) -> list[Finding]:
    """Why the function cannot be cut, as its recorded calls show; empty if it can."""
    if not calls:
        why = "; ".join(_unrecorded(recordings, name))
        if not why:
            ran = "; ".join(f"{each.command} {each.ended}" if each.ended else each.command for each in recordings)
            last_line = next(
                (line for each in recordings for line in reversed(each.output.splitlines()) if line.strip()), ""
            )
            why = f"nothing called it in: {ran}{f' (its last line: {last_line.strip()})' if last_line else ''}; name a program that does with --run"
        return [Finding(kind="no recorded call", place="", detail=why)]
    findings = [
        Finding(kind=kind, place=place, detail=detail) for call in calls for kind, place, detail in call.effects
    ]
    findings += [
        Finding(kind="result", place="", detail=f"its result cannot travel: {call.result}")
        for call in calls
        if call.result
    ]
    return list(dict.fromkeys(findings))

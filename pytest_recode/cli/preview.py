"""The command `pytest-recode preview`: what a model receives for a task, or the verdict and the feedback on an answer. Calls no model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.cli.paging import paged
from pytest_recode.faults import GraderError, SandboxError, UserError
from pytest_recode.wording import guess, some_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_recode.cli.subcommands import Commands
    from pytest_recode.formats import Format
    from pytest_recode.task import Files, Parts, Task

AGENT = "recode"
OF_PROMPTS = ("agent", "protocol")
OF_GRADINGS = ("sandbox", "seed")
SEEDS = 2**64
OWN = ("proofs", "reference", "repo")
MOST_TASKS = 10


def add_to(commands: Commands) -> None:
    preview = commands.add_parser(
        "preview",
        help="what a model receives for a task, or the verdict and the feedback on an answer; no model is called",
        description="For people who write a task: print the first prompt of an episode, with the tokens of its parts; or, with --answer or --mutant,"
        " grade an answer with the hidden tests, and print the verdict and the feedback at every level. No model is called.",
    )
    preview.set_defaults(command=_preview)
    preview.add_argument(
        "task", metavar="TASK", help="the directory of a task, or its task.yaml; FILE::ID for a task of several"
    )
    preview.add_argument(
        "--agent",
        metavar="NAME",
        help=f"the agent whose prompt is printed: recode, recode-h or one-shot; default: {AGENT}",
    )
    preview.add_argument(
        "--protocol",
        metavar="NAME",
        help="text, or tools for models that take native tool calls; default: text. In a run, the model decides",
    )
    answers = preview.add_mutually_exclusive_group()
    answers.add_argument(
        "--answer",
        type=Path,
        metavar="DIR",
        help="grade the answer in this directory, which contains the targets, such as proofs/right/NAME or proofs/wrong/NAME",
    )
    answers.add_argument(
        "--mutant",
        metavar="N",
        help="grade this mutant of the reference: its number, from 1, or its name in the report of --recode-validate",
    )
    answers.add_argument(
        "--mutants",
        action="store_true",
        help="list the mutants of the reference, with number, line and name; nothing is graded",
    )
    preview.add_argument(
        "--sandbox",
        metavar="NAME",
        help="where an answer is graded: docker, bubblewrap, process or auto; default: auto, as in a run",
    )
    preview.add_argument(
        "--seed", metavar="N", help="grade with this seed instead of a secret one, to repeat a verdict"
    )
    preview.add_argument("--no-pager", action="store_true", help="do not start $PAGER (default: less)")


def _preview(arguments: argparse.Namespace) -> str:
    asked = next(
        (f"--{name}" for name in ("answer", "mutant", "mutants") if getattr(arguments, name) not in (None, False)), ""
    )
    grades = asked in ("--answer", "--mutant")
    _check(arguments, asked, grades=grades)
    task, task_format = _task(arguments.task)
    _check_gradable(arguments, task)
    if grades:
        text = _answer(arguments, task)
    elif arguments.mutants:
        text = _mutants(task)
    else:
        text = _prompt(task, task_format, arguments.agent or AGENT, arguments.protocol or "text")
    return paged(text, pager=not arguments.no_pager)


def _check(arguments: argparse.Namespace, asked: str, *, grades: bool) -> None:
    """Raises `UserError` for an option that what is asked for does not use."""
    for name in (*(OF_PROMPTS if asked else ()), *(() if grades else OF_GRADINGS)):
        if getattr(arguments, name) is not None:
            if name in OF_PROMPTS:
                why = f"is about the prompt, which {asked} does not print: leave out one of the two"
            else:
                why = "is about a grading: name what to grade with --answer or --mutant, or leave it out"
            raise UserError(f"--{name} {why}")


def _task(name: str) -> tuple[Task, Format]:
    """The task of a manifest or its directory, which `::id` chooses if there are several, and its format."""
    from pytest_recode.formats.checked_tasks import tasks_of
    from pytest_recode.formats.discovery import manifest_at, similar
    from pytest_recode.installed import Installed

    name, _, chosen = name.partition("::")
    path = Path(name)
    known: Mapping[str, Format] = Installed("formats")
    manifest = manifest_at(path, known)
    if manifest is None:
        if below := sorted(str(each.parent) for name in known for each in path.glob(f"*/{name}")):
            raise UserError(f"{path}: is no task but a set of tasks: give one of them: {some_of(below, MOST_TASKS)}")
        what = "contains no task.yaml" if path.is_dir() else "is no task.yaml"
        if not path.exists():
            what = f"does not exist{similar(path)}"
        raise UserError(f"{path}: {what}: give the directory of a task, or its task.yaml")
    tasks = {task.id: task for task in tasks_of(known[manifest.name], manifest)}
    if chosen and chosen not in tasks:
        raise UserError(
            f"{manifest}: has no task {chosen!r}{guess(chosen, [*tasks])}: choose from {some_of([*tasks], MOST_TASKS)}"
        )
    if not chosen and len(tasks) != 1:
        ids = some_of([f"{path}::{task}" for task in tasks], MOST_TASKS)
        raise UserError(f"{manifest}: has {len(tasks)} tasks: give one of them{': ' + ids if ids else ''}")
    task = tasks[chosen or next(iter(tasks))]
    if task.fault:
        raise UserError(task.fault)
    return task, known[manifest.name]


def _prompt(task: Task, task_format: Format, agent: str, protocol: str) -> str:
    import json
    from dataclasses import replace

    from pytest_recode.episode.first_prompt import CHARACTERS, first_prompt
    from pytest_recode.installed import Installed
    from pytest_recode.models.chat_format import chat_request
    from pytest_recode.render.task_preview import PromptView, prompt_text
    from pytest_recode.settings import Settings, as_played, for_format
    from pytest_recode.task import WHOLE

    agents = Installed("agents")
    if agent not in agents or not agents[agent].needs_model:
        why = "asks no model" if agent in agents else f"is unknown{guess(agent, [*agents])}"
        raise UserError(f"--agent={agent}: this agent {why}; choose from {', '.join(agents)}")
    if protocol not in ("text", "tools"):
        raise UserError(f"--protocol={protocol}: is unknown; choose text or tools")
    kind, parts = agents[agent], task.load()
    defaults = for_format(Settings(agents=(agent,)), {**kind.defaults, **task_format.defaults})
    settings = as_played(replace(defaults, **kind.fixes))
    if kind.needs_targets and WHOLE in task.targets:
        raise UserError(
            f"--agent={agent}: writes the files that a task names, and {task.id} names none; choose another agent"
        )
    prompts = {
        name: first_prompt(task, parts, kind, settings, native_tools=name == "tools") for name in ("text", "tools")
    }
    prompt, choice = prompts[protocol], bool(prompts["tools"].tools)
    if protocol == "tools" and not choice:
        raise UserError(f"--protocol=tools: the agent {agent} has no tools: leave it out, or choose --agent=recode")
    other = "tools" if protocol == "text" else "text"
    request = chat_request(prompt.messages, prompt.tools)
    view = PromptView(
        heading=f"{task.id}: the first prompt that a model receives from the agent {agent}",
        notes=(
            f"As with the default options of a run: {settings.turns} turns, {settings.steps} steps in each, with the paper if there is one.",
            f"Protocol: {protocol}. In a run, the model decides: tools if it takes native tool calls, otherwise text"
            f" (--protocol={other} prints the other prompt)."
            if choice
            else "Protocol: text, the only one of this agent.",
            *_difficulty_note(task),
            *_image_note(task),
            f"No model was called. Tokens are an estimate, {CHARACTERS} characters each: each provider counts its own.",
        ),
        rows=[(part.name, part.characters, part.tokens) for part in prompt.parts],
        messages=[(message.role, message.content) for message in prompt.messages],
        tools=[json.dumps(tool, ensure_ascii=False) for tool in request.tools],
    )
    return prompt_text(view)


def _difficulty_note(task: Task) -> list[str]:
    """A note on what blind solvers did, and on the author's word."""
    from pytest_recode.render.measured_difficulty import sentence

    word = f"{task.difficulty} in its author's word; " if task.difficulty else ""
    return [f"Difficulty: {word}{sentence(task.measured)}."] if word or task.measured else []


def _image_note(task: Task) -> list[str]:
    """A note on a repository that only an image has."""
    environment = task.environment
    if not environment.workdir:
        return []
    image = environment.image or f"the image of {environment.dockerfile}"
    return [
        f"The repository is what {image} has in {environment.workdir}. No image is started here, so this prompt lists none of its files; in a run it does."
    ]


def _check_gradable(arguments: argparse.Namespace, task: Task) -> None:
    """Raises `UserError` where a task's own script judges and this command has nothing that it could grade, or change."""
    from pytest_recode.task import WHOLE

    if task.oracle.verifier is None:
        return
    instead = "judge it with pytest --recode-validate, or play it with --recode-agent=reference"
    if arguments.mutants or arguments.mutant is not None:
        raise UserError(f"{task.id}: has no mutants, because a script makes its reference: {instead}")
    if arguments.answer is not None and WHOLE in task.targets:
        raise UserError(f"{task.id}: names no targets that an answer could contain: {instead}")


def _answer(arguments: argparse.Namespace, task: Task) -> str:
    from pytest_recode.cli.command_sandbox import advice, opened
    from pytest_recode.render.task_preview import AnswerView, answer_text
    from pytest_recode.validation.graded_answer import MARK, graded

    seed = _seed(arguments.seed)
    parts = task.load()
    name, about, targets = _targets(arguments, task, parts)
    try:
        with opened(arguments.sandbox or "auto", task, own=_is_own(arguments.answer, task)) as sandbox:
            grading = graded(task, parts, targets, sandbox, seed=seed)
    except (GraderError, SandboxError, UserError) as error:
        raise UserError(f"{task.id}: {advice(str(error))}") from error
    view = AnswerView(
        heading=f"{task.id}: {name}",
        about=about,
        verdict=grading.verdict,
        sandbox=sandbox.name,
        feedback=grading.feedback,
        cuts=[(cut.interface, cut.field, " and ".join(cut.reasons), cut.passage) for cut in grading.cuts],
        mark=MARK,
    )
    return answer_text(view)


def _mutants(task: Task) -> str:
    from pytest_recode.render.task_preview import mutants_text
    from pytest_recode.validation.checks import proofs_of
    from pytest_recode.validation.mutants import mutants

    found, equivalent = mutants(task.load().reference, task.interfaces), proofs_of(task, "equivalent").equivalent
    rows = [(each.place, each.name, equivalent.get(each.name)) for each in found]
    return mutants_text(task.id, rows)


def _is_own(answer: Path | None, task: Task) -> bool:
    """Whether the answer is code of the task's author: a mutant (None), or a directory in `proofs/`, `reference/` or `repo/`."""
    if answer is None:
        return True
    root, places = task.manifest.parent, [answer.resolve(), *answer.resolve().parents]
    return any((root / name).resolve() in places for name in OWN)


def _seed(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and int(text) < SEEDS):
        raise UserError(f"--seed={text}: is not a whole number from 0 to 2**64 - 1")
    return int(text)


def _targets(arguments: argparse.Namespace, task: Task, parts: Parts) -> tuple[str, list[str], Files]:
    """The name of the answer, lines about it, and its files. Raises `UserError`."""
    if arguments.answer is not None:
        from pytest_recode.formats.directory.proofs import read_answer

        path: Path = arguments.answer
        texts = {"instruction.md": parts.instruction, "paper.md": parts.paper or ""}
        delivered = {**{name: text.encode() for name, text in texts.items()}, **parts.repo}
        root = task.manifest.parent
        targets, wrong = read_answer(path, root, task.targets, task.interfaces, task.limits.disk_mb, delivered)
        about = (
            [f"It violates, according to its requirement.yaml: {wrong.requirement} ({wrong.interface})"]
            if wrong
            else []
        )
        return f"the answer in {path}", about, targets
    from pytest_recode.validation.checks import proofs_of
    from pytest_recode.validation.mutant_diff import unified_diff
    from pytest_recode.validation.mutants import chosen, mutants

    every_mutant = mutants(parts.reference, task.interfaces)
    number, mutant = chosen(every_mutant, arguments.mutant)
    line = proofs_of(task, "equivalent").equivalent.get(mutant.name)
    reference, changed = (each.decode("utf-8", "replace") for each in (parts.reference[mutant.path], mutant.source))
    about = [unified_diff(mutant.path, reference, changed), f"    {mutant.name}"]
    about += [f"equivalent.txt:{line} lists it as equivalent to the reference."] if line else []
    return (
        f"mutant {number} of {len(every_mutant)} of the reference",
        about,
        {**parts.reference, mutant.path: mutant.source},
    )

"""`person`: a person at the terminal takes the place of a model, with their own editor in a directory of their own.

The person sees what a prompt says of the task, and the feedback of the episode's level, and nothing else. Files are read only when the
person submits.

Its transcript events: `message` (turn, step, role, content: what the terminal showed), `step` (turn, step, changed: the paths written or
removed since the turn before, seconds: from the display to the submission), its `result` (turn, step, number, kind: "submit" or
"give up", ok, text), and `refused` (turn, step, text: the problems of a submission that was not accepted, or was held back once).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_recode.agents import ONE_STEP, AgentContext, AgentKind, Refused, Terminal, Workspace, person_directory
from pytest_recode.agents.prompt_texts import brief_text, feedback_text
from pytest_recode.agents.target_checks import not_python, untouched
from pytest_recode.episode import Episode, Feedback, Move, Stop
from pytest_recode.faults import Stopped
from pytest_recode.inside.runtime import removal
from pytest_recode.records.checkpoint import typed_field
from pytest_recode.task import Brief, Files, brief_files
from pytest_recode.verdict import legible

SUBMIT, GIVE_UP = "submit", "give up"
PROMPT = f"{SUBMIT} or {GIVE_UP}: "

ROLE = """\
You take the place of the model: implement the method of a scientific paper, inside an existing repository.
Hidden tests judge the target files: they run what the instruction asks for and compare it with the authors'
implementation. They may draw new inputs each time. When they fail, you get feedback and another turn.
A test stops at its first failure, so there may be more wrong than the feedback says.
Only the targets are graded, together with the repository as it was delivered."""

HOW = """\
Work in this directory, with your own editor, for as long as you like:

  {directory}

submit    reads the files there, grades the targets, and ends the turn
give up   does the same, and ends the episode
Ctrl-C    ends the run; --recode-resume continues this turn"""

REMOVED = "The directory is removed when the episode has ended, because the run has no --recode-out."
REMAINS = "The directory remains when the episode has ended."


@dataclass(slots=True, kw_only=True)
class Person:
    """`written` and `removed`: the paths in which the workspace differs from the repository. `sent`: contents that this process
    has written there. `directory` is None until this process has shown the brief."""

    context: AgentContext
    terminal: Terminal
    turn: int = 0
    written: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    sent: dict[str, bytes] = field(default_factory=dict)
    directory: Path | None = None

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """Show the brief or the feedback, and wait until the person submits.

        Raises `Stopped` if the input ends, because nothing was submitted.
        """
        self.turn += 1
        first = self.directory is None
        directory = self.directory = self.directory or self._opened(brief, workspace)
        texts = [ROLE, brief_text(brief, workspace=True)] if first else []
        texts += [] if feedback is None else [feedback_text(brief, feedback)]
        self._log("message", {"role": "user", "content": "\n\n".join(texts)})
        after = REMAINS if self.context.keeps_files else REMOVED
        texts += [f"{HOW.format(directory=directory)}\n{after}" if first else f"Your files are in {directory}"]
        began = time.monotonic()
        with self.terminal.opened():
            title = f"{brief.task}, turn {self.turn} of {self.context.turns}"
            self._say("\n\n".join([f"\n{'=' * 20} {title} {'=' * 20}", *texts]))
            graded = None if feedback is None else workspace.targets()
            answer, changed = self._submission(brief, workspace, directory, graded)
            self._say("Grading ...")
        self._log("step", {"changed": changed, "seconds": round(time.monotonic() - began, 3)})
        self._log("result", {"number": 1, "kind": answer, "ok": True, "text": ""})
        return Move(steps=1, gave_up=answer == GIVE_UP)

    def finish(self, episode: Episode) -> None:
        """Show how the episode ended, and remove the directory unless the user keeps the records."""
        last = episode.turns[-1]
        end = {Stop.SOLVED: "solved", Stop.GIVEN_UP: "given up", Stop.TURNS: "not solved, and there is no further turn"}
        shown = f"Turn {last.number}: {last.verdict.passed} of {len(last.verdict.cases)} hidden tests pass: {end.get(episode.stop, episode.stop.value)}."
        directory = self.directory or self._earlier()
        if directory is not None and not self.context.keeps_files:
            removal.remove(str(directory))
            if (place := self._place()) is not None:
                self.context.files.remove(place)
        elif directory is not None:
            shown += f" Your files remain in {directory}"
        with self.terminal.opened():
            self._say(shown)

    def state(self) -> Mapping[str, Any]:
        return {"turn": self.turn, "written": sorted(self.written), "removed": sorted(self.removed)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn = typed_field(state, "turn", int)
        self.written, self.removed = set(typed_field(state, "written", list)), set(typed_field(state, "removed", list))

    def _opened(self, brief: Brief, workspace: Workspace) -> Path:
        """The directory from before an interruption, with all that the person wrote there, or a new one with the files of the workspace."""
        if (earlier := self._earlier()) is not None:
            return earlier
        directory = person_directory.create(brief.task, self._content(brief, workspace))
        if (place := self._place()) is not None:
            self.context.files.replace(place, f"{directory.name}\n")
        return directory

    def _place(self) -> Path | None:
        """The file with the name of the directory."""
        return self.context.shared and self.context.shared / "workspaces" / f"{self.context.episode}.txt"

    def _earlier(self) -> Path | None:
        place = self._place()
        try:
            name = self.context.files.read(place).decode(errors="replace").strip() if place is not None else ""
        except OSError:
            return None
        return person_directory.existing(name)

    def _content(self, brief: Brief, workspace: Workspace) -> dict[str, bytes]:
        files = {path: data for path, data in _delivered(brief).items() if path not in self.removed}
        if self.written:
            files |= workspace.targets()
        for path in self.written.difference(files, brief.targets):
            try:
                files[path] = workspace.read(path).encode()
            except Refused:  # no text
                continue
        return files

    def _submission(
        self, brief: Brief, workspace: Workspace, directory: Path, graded: Files | None
    ) -> tuple[str, list[str]]:
        """Wait for an answer, and make the directory the content of the workspace. Returns the answer, and the paths that changed.

        `graded`: the targets of the last verdict; None without one.
        """
        every: dict[str, None] = {}
        repeated: set[str] = set()
        while True:
            try:
                answer = " ".join(self.terminal.read(PROMPT).split()).lower()
            except EOFError:
                raise Stopped("stopped by the end of the input (Ctrl-D)") from None
            if answer not in (SUBMIT, GIVE_UP):
                if answer:
                    self._say(f"type {SUBMIT} or {GIVE_UP}; your files are in {directory}")
                continue
            changed, problems = self._taken(brief, workspace, directory)
            every |= dict.fromkeys(changed)
            if answer == GIVE_UP:
                return answer, list(every)
            doubts = [] if problems else _doubts(brief, workspace.targets(), graded)
            if not problems and repeated.issuperset(doubts):
                return answer, list(every)
            repeated.update(doubts)
            how = (
                f"correct this, and type {SUBMIT} again"
                if problems
                else f"type {SUBMIT} again to submit anyway, which takes this turn"
            )
            self._log("refused", {"text": "\n".join([*problems, *doubts])})
            self._say("\n".join([*problems, *doubts, f"Nothing was submitted: {how}."]))

    def _taken(self, brief: Brief, workspace: Workspace, directory: Path) -> tuple[list[str], list[str]]:
        """Make the directory the content of the workspace. Returns the paths that changed, and the problems of targets."""
        content = person_directory.read(directory, brief.targets)
        problems = list(content.problems)
        if content.files is None:
            return [], problems
        delivered = _delivered(brief)
        gone = (delivered.keys() | self.written) - content.files.keys() - self.removed
        changed = []
        for path in sorted(gone if content.whole else gone.intersection(brief.targets)):
            with suppress(Refused):  # it was not there
                workspace.remove(path)
            self.sent.pop(path, None)
            self.written.discard(path)
            self.removed.add(path)
            changed.append(path)
        for path, data in content.files.items():
            untouched = path not in self.written and path not in self.removed
            if self.sent.get(path) == data or (untouched and delivered.get(path) == data):
                continue
            try:
                workspace.write(path, data.decode("utf-8", "surrogateescape"))
            except Refused as refused:
                problems += [str(refused)] if path in brief.targets else []
                continue
            self.removed.discard(path)
            self.written.add(path)
            self.sent[path] = data
            changed.append(path)
        return changed, problems

    def _say(self, text: str) -> None:
        self.terminal.write(legible(text))

    def _log(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.context.log(kind, {"turn": self.turn, "step": 1, **fields})


def _doubts(brief: Brief, files: Files, graded: Files | None) -> list[str]:
    """Why a submission would probably waste its turn, a line each. `graded`: the targets of the last verdict; None without one."""
    targets = brief.targets
    if graded is not None and files == graded:
        return [f"{', '.join(targets)} {'is' if len(targets) == 1 else 'are'} unchanged since the last verdict."]
    doubts = [f"{path} is missing." for path in targets if path not in files]
    if graded is None:
        doubts += filter(None, [untouched([path for path in targets if path in files], files, brief.repo)])
    invalid = (not_python(path, files[path].decode(errors="replace")) for path in targets if path in files)
    return [*doubts, *(f"{clause}." for clause in invalid if clause)]


def _delivered(brief: Brief) -> dict[str, bytes]:
    """The files of the workspace before anything was done there."""
    return {**brief_files(brief), **brief.repo}


def make(context: AgentContext) -> Person:
    if context.terminal is None:
        raise ValueError("the agent 'person' is made without a terminal: register it with needs_person=True")
    return Person(context=context, terminal=context.terminal)


KIND = AgentKind(make=make, needs_model=False, needs_person=True, needs_targets=True, fixes=ONE_STEP)

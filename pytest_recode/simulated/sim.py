"""The simulated models sim/novice, sim/graduate and sim/expert. Their results are labelled as simulated.

A simulated model starts from the reference, breaks it, and repairs it according to the feedback. Its answers are a function of its
seed and the messages, in any process.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random
from typing import Any

from pytest_recode.agents.actions import Action, Step
from pytest_recode.agents.prompt_texts import fence_for
from pytest_recode.agents.text_form import HAND_IN, render
from pytest_recode.faults import UserError
from pytest_recode.feedback.levels import FIRST_LINE, corrections
from pytest_recode.models import Ledger, Message, ModelContext, ModelKind, Reply, Tool, Usage
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.program.source import tree_of
from pytest_recode.simulated import slot_edits
from pytest_recode.simulated.mutations import Definition, mutated
from pytest_recode.simulated.patching import find, lay_in, replaced, source_of
from pytest_recode.slots import held
from pytest_recode.task import Parts, Task, interfaces_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Probabilities. `repairs`: for each broken interface and turn, by the level of the feedback, L0 to L4."""

    right: float  # that an interface is correct in the first turn
    slips: int  # mistakes in an interface that is not
    repairs: tuple[float, float, float, float, float]


SKILLS = {
    "novice": Skill(right=0.15, slips=2, repairs=(0.01, 0.02, 0.04, 0.06, 0.08)),
    "graduate": Skill(right=0.35, slips=1, repairs=(0.3, 0.45, 0.6, 0.75, 0.85)),
    "expert": Skill(right=0.75, slips=1, repairs=(0.6, 0.75, 0.9, 0.95, 1.0)),
}


_PART = "the part that is asked for"
"""The key for the part of a file, in tasks that ask for a part and name no interface."""


@dataclass(slots=True, kw_only=True)
class Work:
    """The model's current files. `broken` maps each wrong interface to its file and the definition that was broken."""

    texts: dict[str, str]
    broken: dict[str, tuple[str, tuple[str, ...]]]
    changed: tuple[str, ...]
    turn: int
    unwritten: tuple[str, ...] = ()  # changed files for which the turn has no steps left


@dataclass(slots=True, kw_only=True)
class SimModel:
    name: str
    skill: Skill
    seed: str
    task: Task
    parts: Parts
    ledger: Ledger
    simulated: bool = True
    native_tools: bool = False
    _work: Work | None = field(default=None, repr=False)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        self.ledger.before_call(self.name)
        text = self._answer(messages, schema)
        characters = sum(len(message.content) for message in messages)
        usage = Usage(prompt_tokens=-(-characters // 4), completion_tokens=-(-len(text) // 4), cost_usd=0.0)
        self.ledger.spent(self.name, usage)
        return Reply(text=text, usage=usage, finish="stop")

    def state(self) -> Mapping[str, Any]:
        return {} if self._work is None else asdict(self._work)

    def restore(self, state: Mapping[str, Any]) -> None:
        self._work = None
        if state:
            broken = {interface: (str(file), tuple(path)) for interface, (file, path) in state["broken"].items()}
            names = {name: tuple(state[name]) for name in ("changed", "unwritten")}
            if not (isinstance(state["turn"], int) and all(isinstance(text, str) for text in state["texts"].values())):
                raise TypeError("the files of the simulated model must be text")
            self._work = Work(**{**state, "broken": broken, **names})

    def _answer(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
        if schema is not None:
            return "{}"  # not a researcher: the caller falls back to derived feedback
        system = "\n".join(message.content for message in messages if message.role == "system")
        acts = HAND_IN in system
        if not acts and "summary" in system:
            return self._summary()
        shown = next((message.content for message in reversed(messages) if message.role == "user"), "")
        self._look(shown)
        if "RETRIEVE" in system:
            return self._command(shown)
        return self._step(shown) if acts else self._blocks()

    def _look(self, shown: str) -> None:
        """Start a turn if the prompt has feedback that was not processed yet."""
        first_lines = list(FIRST_LINE.finditer(shown))
        if self._work is None:
            self._work = self._first_attempt()
        if not first_lines or int(first_lines[-1]["turn"]) < self._work.turn:
            return
        line = first_lines[-1]
        feedback = shown[line.start() :].partition("\n# Current content of the targets")[0]
        self._work = self._repaired(self._work, feedback, int(line["level"]), int(line["turn"]) + 1)

    def _first_attempt(self) -> Work:
        reference = {path: self.parts.reference[path].decode("utf-8", "replace") for path in self._targets()}
        texts, broken = dict(reference), {}
        for interface in interfaces_of(self.task, self.parts):
            random = self._random("first", interface)
            place = self._place(interface, reference, random)
            if random.random() < self.skill.right or place is None:
                continue
            file, path = place
            node = find(ast.parse(texts[file]), path)
            assert node is not None
            wrong = replaced(texts[file], node, ast.unparse(mutated(node, random, self.skill.slips)))
            if tree_of(wrong) is not None:
                texts[file], broken[interface] = wrong, place
        slot, random = self.parts.slot, self._random("first", _PART)
        if slot is not None and slot.path in texts and random.random() >= self.skill.right:
            part = slot_edits.broken(self.parts, random, self.skill.slips)
            if part is not None:
                texts[slot.path], broken[_PART] = part, (slot.path, ())
        return Work(texts=texts, broken=broken, changed=tuple(texts), turn=1)

    def _place(
        self, interface: str, reference: Mapping[str, str], random: Random
    ) -> tuple[str, tuple[str, ...]] | None:
        """File and path of the definition to break for an interface; for a module, one of its functions."""
        file = file_of(interface, tuple(reference))
        tree = tree_of(reference[file]) if file is not None else None
        if file is None or tree is None:
            return None
        path = path_within(interface, file)
        if path:
            return (file, path) if find(tree, path) is not None else None
        inside = [node.name for node in tree.body if isinstance(node, Definition)]
        return (file, (random.choice(inside),)) if inside else None

    def _repaired(self, work: Work, feedback: str, level: int, turn: int) -> Work:
        """Apply the corrections in the feedback, and repair other broken interfaces with the probability of the skill."""
        texts, broken = dict(work.texts), dict(work.broken)
        for correction in corrections(feedback):
            if correction.file not in texts:
                continue
            part = self.parts.slot is not None and correction.file == self.parts.slot.path
            if part:
                better = slot_edits.corrected(self.parts, correction.code)
            else:
                path = path_within(correction.interface, correction.file)
                better = lay_in(texts[correction.file], correction.code, path)
            if better is not None:
                texts[correction.file] = better
                broken.pop(_PART if part else correction.interface, None)
        named = re.findall(r"^Interface: (\S+)$", feedback, re.MULTILINE)
        for interface, (file, path) in work.broken.items():
            suspected = not named or interface in named or interface == _PART
            if interface in broken and suspected:
                seen = self._random("repair", turn, interface).random() < self.skill.repairs[level]
                if seen:
                    texts[file] = self._restored(texts[file], file, path)
                    del broken[interface]
        changed = tuple(file for file in texts if texts[file] != work.texts[file] or file in work.unwritten)
        return Work(texts=texts, broken=broken, changed=changed, turn=turn)

    def _restored(self, text: str, file: str, path: Sequence[str]) -> str:
        reference = self.parts.reference[file].decode("utf-8", "replace")
        if not path:
            return reference
        right, tree = find(ast.parse(reference), path), tree_of(text)
        wrong = find(tree, path) if tree is not None else None
        if right is None or wrong is None:
            return reference
        return replaced(text, wrong, source_of(reference, right))

    def _step(self, shown: str) -> str:
        """One answer in the text form, for the step that the prompt names."""
        work = self._begun()
        step, steps = _budget(shown)
        plan = self._plan(work, steps)
        actions = plan[min(step, len(plan)) - 1]
        count = len(interfaces_of(self.task, self.parts))
        seen = f"Simulated model {self.name}, turn {work.turn}: {count} interfaces are asked."
        wrote = ", ".join(work.changed) or "nothing new"
        return render(
            Step(
                observation=seen,
                reflection="The feedback is taken into account." if work.turn > 1 else "Nothing was tried yet.",
                planning=f"Of this turn: {wrote}. Now: {', '.join(action.kind for action in actions)}.",
                actions=tuple(actions),
            )
        )

    def _plan(self, work: Work, steps: int) -> list[list[Action]]:
        """The answers of a turn, at most `steps`: look, write, check, submit."""
        submit = Action(kind="submit")
        check = Action(kind="run", arguments={"command": _syntax_check(work.changed)})
        writes = [Action(kind="write", arguments={"path": path, "text": work.texts[path]}) for path in work.changed]
        looked = next((path for path in (*self._targets(), *sorted(self.parts.repo)) if path in self.parts.repo), None)
        look = [Action(kind="run", arguments={"command": "ls -R"})]
        if looked is not None:
            look.append(Action(kind="run", arguments={"command": shlex.join(["cat", looked])}))
        if not writes:
            return [[*look[1:], submit]]
        batches = [writes[at : at + 6] for at in range(0, len(writes), 6)]
        spare = steps - len(batches)
        before = [look] if work.turn == 1 and spare >= 1 else []
        if spare - len(before) >= 1:
            return [*before, *batches[:-1], [*batches[-1], check], [submit]]
        return [*before, *batches[:-1], [*batches[-1], submit]]

    def _command(self, shown: str) -> str:
        """One answer for the agent `recode-h`, with one action: search, write a target, or submit."""
        work = self._begun()
        step, steps = _budget(shown)
        wrote = [f"REPLACE {path}\n{work.texts[path]}" for path in work.changed]
        work.unwritten = work.changed[steps:]
        find = (
            [f"RETRIEVE {(*self.task.interfaces, self.task.title)[0]}"]
            if work.turn == 1 and steps > len(wrote) + 1
            else []
        )
        plan = [*find, *wrote, "SUBMIT"]
        reflection = f"Simulated model {self.name}, turn {work.turn}: {len(self.task.interfaces)} interfaces are asked."
        return f"reflect: {reflection}\naction:\n{plan[min(step, len(plan)) - 1]}"

    def _blocks(self) -> str:
        """One answer for the agent `one-shot`: every target in a fence with its path, or the requested part."""
        parts = [f"Simulated model {self.name}."]
        slot = self.parts.slot
        for path, text in self._begun().texts.items():
            if slot is not None and path == slot.path:
                part = held(text, self.parts.repo[path].decode("utf-8", "replace"), slot)
                fence = fence_for(part or "")
                parts.append(f"{fence}python\n{part}\n{fence}")
                continue
            fence = fence_for(text)
            language = "python " if path.endswith(".py") else ""
            parts.append(f"{fence}{language}{path}\n{text.rstrip()}\n{fence}")
        return "\n\n".join(parts)

    def _summary(self) -> str:
        turn = self._work.turn if self._work else 1
        wrote = ", ".join(self._targets())
        return f"Simulated model {self.name}: wrote and handed in {wrote}; turn {turn} was reached."

    def _begun(self) -> Work:
        assert self._work is not None
        return self._work

    def _targets(self) -> tuple[str, ...]:
        return tuple(path for path in self.task.targets if path in self.parts.reference)

    def _random(self, *what: object) -> Random:
        """A separate generator for every decision. A text gives the same seed in every process."""
        return Random("/".join(map(str, (self.seed, self.name, *what))))


def _budget(shown: str) -> tuple[int, int]:
    """The step and the number of steps of the turn, from the last such line of a prompt."""
    found = re.findall(r"Step (\d+) of (\d+) in turn \d+ of \d+", shown)
    step, steps = found[-1] if found else (1, 1)
    return int(step), int(steps)


def _syntax_check(paths: Sequence[str]) -> str:
    program = "import ast, sys; [ast.parse(open(name, encoding='utf-8').read()) for name in sys.argv[1:]]"
    names = [path for path in paths if path.endswith(".py")]
    return shlex.join(["python3", "-c", program, *names])


def _check(context: ModelContext, *, skill: str) -> None:
    """Simulated models need no key, no address and no price."""
    assert skill in SKILLS, context.name


def _make(context: ModelContext, *, skill: str) -> SimModel:
    if context.task is None or context.parts is None:
        raise UserError(f"model {context.name} needs a task's reference: use it as --recode-model")
    return SimModel(
        name=context.name,
        skill=SKILLS[skill],
        seed=context.seed,
        task=context.task,
        parts=context.parts(),
        ledger=context.ledger,
    )


def _kind(skill: str) -> ModelKind:
    return ModelKind(
        make=partial(_make, skill=skill),
        check=partial(_check, skill=skill),
        offline=True,
        needs_reference=True,
        concurrent=True,
    )


NOVICE = _kind("novice")
GRADUATE = _kind("graduate")
EXPERT = _kind("expert")

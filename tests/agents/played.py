"""The recode agent with a script of answers, in a real workspace."""

from __future__ import annotations

from dataclasses import replace

from pytest_recode.agents.recode import KIND, ReCode
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback, Move
from pytest_recode.models import Reply
from tests.agents.scripted import Answer, Logged, Scripted, a_brief, a_context

SUBMIT = "SUBMIT\n"
RIGHT = "def solve(x):\n    return 2 * x\n"


def block(text: str, path: str = "solver.py") -> str:
    """The file with this text, as a model without native tools writes it."""
    return f"```python {path}\n{text}```\n"


def shell(command: str) -> str:
    return f"```bash\n{command}\n```\n"


def feedback(text: str, turn: int = 1) -> Feedback:
    return Feedback(level=2, text=text, turn=turn)


class Played:
    """An agent of its own for one test, turn by turn. A turn has a step for each answer, unless `steps` says otherwise; in the last one,
    no `submit` is held. `native`: whether the model has native tools, by default whether an answer has calls."""

    def __init__(
        self,
        workspace: SandboxWorkspace,
        *answers: Answer,
        steps: int | None = None,
        native: bool | None = None,
        window: int | None = None,
        memory_threshold: int | None = None,
        memory_keep: int | None = None,
    ) -> None:
        if native is None:
            native = any(isinstance(each, Reply) and each.tool_calls for each in answers)
        self.model = Scripted(answers, native_tools=native, window=window)
        self.log = Logged()
        context = a_context(self.model, steps=len(answers) if steps is None else steps, log=self.log)
        made = KIND.make(replace(context, memory_threshold=memory_threshold, memory_keep=memory_keep))
        assert isinstance(made, ReCode)
        self.agent = made
        self.workspace = workspace
        self.brief = a_brief()
        self.move = Move()

    def turn(self, feedback: Feedback | None = None) -> tuple[int, bool]:
        """Its steps, and whether it was handed in."""
        self.move = self.agent.act(self.brief, feedback, self.workspace)
        return self.move.steps, self.move.submitted

    def last(self, call: int = -1) -> str:
        """The last message of a prompt."""
        return self.model.asked[call][-1].content

    def prompt(self, call: int = -1) -> str:
        return "\n\n".join(message.content for message in self.model.asked[call])

    def results(self) -> list[str]:
        return [fields["text"] for fields in self.log.of("result")]

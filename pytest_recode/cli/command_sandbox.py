"""The sandbox in which `pytest-recode preview` grades an answer and `pytest-recode cut` runs a repository: chosen as a run chooses its own, and closed afterwards."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.sandboxes import Sandbox, SandboxContext, SandboxKind
    from pytest_recode.task import Environment, Task


@contextmanager
def opened(name: str, task: Task, *, own: bool) -> Iterator[Sandbox]:
    """The sandbox with this name, or for `auto` the one that a run would use, ready for the task's environment.

    `own`: the answer is part of the task, so that `auto` means the same as in a validation. Another answer may be a model's, and needs an
    isolated sandbox. Raises `UserError`, `SandboxError`.
    """
    _check(task.environment)
    with sandbox_for(name, task.environment, [task.manifest], own=own) as sandbox:
        yield sandbox


@contextmanager
def sandbox_for(
    name: str, environment: Environment, manifests: Sequence[Path], *, own: bool, local: bool = False
) -> Iterator[Sandbox]:
    """The same without a task: `manifests` are those of tasks to hide. `local`: programs need the packages of this interpreter."""
    from pytest_recode.installed import Installed
    from pytest_recode.sandboxes import SandboxContext
    from pytest_recode.sandboxes.choose import choose
    from pytest_recode.sandboxes.hiding import hidden

    kinds: Mapping[str, SandboxKind] = Installed("sandboxes")
    context = SandboxContext(
        run=f"preview-{secrets.token_hex(3)}",
        python=sys.executable,
        hide=hidden(manifests, [], Path.cwd(), sys.executable),
    )
    if local:
        chosen = _local(name, context, kinds)
    else:
        images = bool(environment.image or environment.dockerfile)
        chosen = choose(name, context, kinds, all_offline=own, names_image=images, notify=_told)
    kind = kinds[chosen]
    kind.reap(context)
    sandbox = kind.make(context)
    try:
        sandbox.ready(environment)
        yield sandbox
    finally:
        sandbox.close()


def _told(line: str) -> None:
    print(advice(line), file=sys.stderr)


def _local(name: str, context: SandboxContext, kinds: Mapping[str, SandboxKind]) -> str:
    from pytest_recode.sandboxes.choose import AUTO, candidates, choose

    if name in kinds and not kinds[name].local:
        usable = " or ".join(key for key, kind in kinds.items() if kind.local)
        raise UserError(
            f"{name} cannot be used by cut, because its programs do not run in the interpreter of this command, which has the packages"
            f" that the repository needs: choose {AUTO}, {usable}"
        )
    kinds = {name: kinds[name]} if name in kinds else {key: kind for key, kind in kinds.items() if kind.local}
    try:
        first = next(iter(candidates(kinds, local=True)), AUTO)
        return choose(first if name == AUTO else name, context, kinds, all_offline=False)
    except UserError as error:
        if name != AUTO:
            raise
        raise UserError(f"{error}; or run the code without isolation with --recode-sandbox=process") from None


_HERE = {
    "--recode-sandbox": "--sandbox",
    "with --recode-image": "with environment.image in task.yaml",
    "name an interpreter that has it with --recode-python=PATH": "start pytest-recode with an interpreter that has it",
}
"""What messages of sandboxes advise for a run, and what helps here."""


def advice(message: str) -> str:
    """A message of a sandbox on one line, with the options of this command."""
    text = " ".join(message.split())
    for there, here in _HERE.items():
        text = text.replace(there, here)
    return text


def _check(environment: Environment) -> None:
    """A run refuses a named environment that nothing is given for, too."""
    if environment.name and not (environment.image or environment.dockerfile or environment.requirements):
        raise UserError(
            f"environment.name: {environment.name}: only a run can map this name: put the answer into proofs/, and use"
            f" pytest TASK --recode-validate --recode-env={environment.name}=PATH-or-image"
        )

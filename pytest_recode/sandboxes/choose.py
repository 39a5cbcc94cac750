"""Choose the sandbox of a run: the one that the user named, or the best available. Code never runs unprotected unless the user asks."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_recode.faults import UserError
from pytest_recode.sandboxes import SandboxContext, SandboxKind

AUTO = "auto"


def choose(
    name: str, context: SandboxContext, kinds: Mapping[str, SandboxKind], *, all_offline: bool, local: bool = False
) -> str:
    """Return the name, one of `kinds`, of the sandbox to use. Raises `UserError`.

    A named sandbox must work. `auto` means docker if its daemon answers, else bubblewrap, else an error that lists the choices.
    `local`: the user named interpreters of this machine and no image, so docker is skipped. `all_offline`: the run has only
    built-in offline agents and models and executes only code of this project, so `auto` means bubblewrap, else process; docker is
    skipped because a first run should not need an image.
    """
    if name != AUTO:
        if name not in kinds:
            raise UserError(f"unknown sandbox {name!r}; choose {', '.join(kinds)} or {AUTO}")
        problem = kinds[name].check(context)
        if problem:
            raise UserError(f"--recode-sandbox={name}: {problem.removeprefix(f'{name}: ')}")
        return name
    problems = {}
    walled = ("bubblewrap",) if local else ("docker", "bubblewrap")
    for candidate in ("bubblewrap", "process") if all_offline else walled:
        if candidate in kinds:
            problem = kinds[candidate].check(context)
            if problem is None:
                return candidate
            problems[candidate] = problem
    why = "; ".join(problems.values())
    if local:
        raise UserError(
            f"no sandbox on this machine can use the interpreter that you named ({why}): install bubblewrap, or name an image"
            " for docker instead, or run code without isolation with --recode-sandbox=process"
        )
    raise UserError(
        f"no sandbox works on this machine ({why}): start Docker, or install bubblewrap, or run code without "
        "isolation with --recode-sandbox=process"
    )

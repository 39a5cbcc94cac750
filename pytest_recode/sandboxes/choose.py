"""Choose the sandbox of a run: the one that the user named, or the best available. Code never runs unprotected unless the user asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_recode.faults import UserError
from pytest_recode.sandboxes import SandboxContext, SandboxKind

AUTO = "auto"


def choose(
    name: str,
    context: SandboxContext,
    kinds: Mapping[str, SandboxKind],
    *,
    all_offline: bool,
    local: bool = False,
    names_image: bool = False,
    notify: Callable[[str], None] | None = None,
) -> str:
    """Return the name, one of `kinds`, of the sandbox to use. Raises `UserError`.

    A named sandbox must work. `auto` means docker if its daemon answers and has, or can pull, the image of tasks that name none; else
    bubblewrap; else an error that lists the choices. `names_image`: the user or a task names an image, which bubblewrap cannot use, so that
    a missing image is no reason for another sandbox. `notify` is called with a line for the user before a pull, and if a missing image is
    the reason for the choice. If it is None, nothing is pulled: for workers, whose controlling process has tried it.
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
    problems: dict[str, str] = {}
    without_image = ""
    for candidate in candidates(kinds, own_code=all_offline, local=local):
        kind = kinds[candidate]
        problem = kind.check(context)
        if problem is None and kind.missing_image is not None and not names_image:
            problem = kind.missing_image(context, notify)
            without_image = candidate if problem else without_image
        if not problem:
            if without_image and notify is not None:
                why = problems[without_image].removeprefix(f"{without_image}: ")
                notify(f"sandbox {candidate}, because {without_image} has no image: {why}")
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


def candidates(kinds: Mapping[str, SandboxKind], *, own_code: bool = False, local: bool = False) -> list[str]:
    """The names that `auto` tries, in order. `own_code`: the run executes only this project's code, which needs no isolation and no image;
    `local`: it needs an interpreter of this machine."""
    fit = [
        name
        for name, kind in kinds.items()
        if kind.automatic and (own_code or kind.isolated) and not (kind.needs == "image" and (own_code or local))
    ]
    return sorted(fit, key=lambda name: kinds[name].automatic)

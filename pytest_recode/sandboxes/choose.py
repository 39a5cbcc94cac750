"""Which sandbox a run uses: what the user named, or the best of this machine. Nothing runs unprotected by accident."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_recode.faults import UserError
from pytest_recode.sandboxes import SandboxContext, SandboxKind

AUTO = "auto"


def choose(
    name: str, context: SandboxContext, kinds: Mapping[str, SandboxKind], *, all_offline: bool, local: bool = False
) -> str:
    """The name, out of `kinds`, of the sandbox to use.

    A name is taken at its word, and must work. `auto` is docker where its daemon answers, else bubblewrap, else
    a stop that names the ways on. Where interpreters of this machine were named and no image (`local`), docker has nothing to
    run in, and is passed over. A run of nothing but built-in offline agents and models (`all_offline`) runs only code
    that came with this project, so `auto` then is bubblewrap where it is there, else process, and never docker: the first
    minute with this tool needs no image. Raises `UserError`.
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
            f"an interpreter of this machine was named, and no sandbox works that could use it ({why}): install bubblewrap, or"
            " name an image for docker in its place, or accept that code runs without walls with --recode-sandbox=process"
        )
    raise UserError(
        f"no sandbox works on this machine ({why}): start Docker, or install bubblewrap, or accept that code runs without "
        "walls with --recode-sandbox=process"
    )

"""The parts of others that a run chose: imported, and checked against their types, once, where they come in.

A message names the part, where it is from, the field, and what it must be. Never imports pytest.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple, get_args, get_type_hints

from pytest_recode.faults import BudgetSpent, ModelError, RecordsError, SandboxError, UserError, raised
from pytest_recode.registered import distribution, entry_points, origin, own, places
from pytest_recode.schema.declared_types import described, problem, public_name
from pytest_recode.settings import settings_problem
from pytest_recode.wording import guess


class PartType(NamedTuple):
    """What the parts of a kind are called, and where their type is."""

    noun: str
    module: str
    name: str

    def type(self) -> Any:
        return getattr(importlib.import_module(self.module), self.name)


TYPES = {
    "formats": PartType("format", "pytest_recode.formats", "Format"),
    "sandboxes": PartType("sandbox", "pytest_recode.sandboxes", "SandboxKind"),
    "agents": PartType("agent", "pytest_recode.agents", "AgentKind"),
    "policies": PartType("feedback policy", "pytest_recode.feedback", "PolicyKind"),
    "models": PartType("model", "pytest_recode.models", "ModelKind"),
}


def misspelt_group() -> None:
    """Raise `UserError` if a distribution has entry points in a group of this project that does not exist, which would be ignored."""
    groups = [f"pytest_recode.{kind}" for kind in TYPES]
    for group in sorted(entry_points().groups):
        if group.startswith("pytest_recode.") and group not in groups:
            points = entry_points().select(group=group)
            raise UserError(
                f"the distribution {distribution(next(iter(points)))} has entry points in the group {group}, which does not"
                f" exist{guess(group, groups)}: choose from {', '.join(groups)}"
            )


def part(kind: str, name: str, offer: Any, source: str = "", rest: str | None = None) -> Any:
    """The part that is offered: an object, or its place, which is imported. A class or function that makes an agent becomes an `AgentKind`.

    `source`: where the offer is from, in words, if it is not the project's own. `rest`: the text after a name that ends in ":"; then a
    function of that text is offered, which returns the part. Its fields are checked here against their types, and what its functions
    raise and return when they are called. Raises `UserError` if it cannot be imported, or is not of its type.
    """
    who = f"{TYPES[kind].noun} {name!r}" + (f" of {source}" if source else "")
    value = imported(offer, who) if isinstance(offer, str) else offer
    if rest is not None:
        value = _made(value, rest, who)
    kind_type = TYPES[kind].type()
    if not isinstance(value, kind_type):
        if kind != "agents":
            raise UserError(f"{who} is registered with a {type(value).__name__}: it must be a {public_name(kind_type)}")
        if not callable(value):
            raise UserError(
                f"{who} is a {type(value).__name__}: it must be an AgentKind, or a class or function that takes an AgentContext"
            )
        value = kind_type(make=value)
    if offer in own(kind).values():
        return value
    if wrong := problem(value, kind_type):
        raise UserError(f"{who}: {kind_type.__name__}{wrong}")
    for field in ("defaults", "fixes"):
        if wrong := settings_problem(getattr(value, field, {})):
            raise UserError(f"{who}: {kind_type.__name__}.{field}{wrong}")
    if kind == "formats" and value.manifest != name:
        raise UserError(
            f"{who} is registered for the manifest {name!r}, but its Format.manifest is {value.manifest!r}: make them equal"
        )
    return _checked_calls(value, who)


def _made(function: Any, rest: str, who: str) -> Any:
    if not callable(function):
        raise UserError(f"{who} is a {type(function).__name__}: it must be a function of the text after its name")
    try:
        return function(rest)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(f"{who} raised {raised(error)} for {rest!r}") from error


def _checked_calls(value: Any, who: str) -> Any:
    """The same part, whose functions check what they return, and raise a `UserError` of one line instead of unexpected exceptions."""
    hints = get_type_hints(type(value))
    if "load" in hints:  # `tasks_of` checks each task of a format, so that one with a fault does not stop the others
        hints["load"] = Callable[[Any], Sequence[Any]]
    functions = {
        field.name: getattr(value, field.name) for field in fields(value) if callable(getattr(value, field.name))
    }
    return replace(
        value,
        **{name: functools.partial(_call, call, hints[name], f"{who}: {name}()") for name, call in functions.items()},
    )


def _call(function: Callable[..., Any], declared: Any, what: str, *arguments: Any) -> Any:
    try:
        result = function(*arguments)
    except (UserError, ModelError, BudgetSpent, RecordsError, SandboxError):
        raise
    except (Exception, SystemExit) as error:
        raise UserError(f"{what} raised {raised(error)}") from error
    callables = [each for each in (declared, *get_args(declared)) if isinstance(next(iter(get_args(each)), None), list)]
    if wrong := problem(result, get_args(callables[0])[1]):
        raise UserError(f"{what} returned {described(result, wrong)}")
    return result


class Installed(Mapping[str, Any]):
    """The installed parts of a kind, by name, without those whose name ends in ":". One is imported when it is looked up.

    Raises `UserError` as `places` and `part` do.
    """

    def __init__(self, kind: str) -> None:
        misspelt_group()
        self._kind = kind
        self._places = {name: place for name, place in places(kind).items() if not name.endswith(":")}

    def __getitem__(self, name: str) -> Any:
        place = self._places[name]
        return part(self._kind, name, place, origin(self._kind, name, place))

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def imported(place: str, who: str) -> Any:
    """The object at `module:attribute`. Raises `UserError`, which names `who` wants it."""
    module, _, name = place.partition(":")
    try:
        owner = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (module == missing or module.startswith(missing + ".")):
            raise UserError(
                f"{who}: there is no module {missing!r}: write package.module:Name, importable from where pytest runs"
            ) from None
        raise UserError(f"{who}: importing {module} raised {raised(error)}") from error
    if not name or not hasattr(owner, name):
        own = [n for n, value in vars(owner).items() if getattr(value, "__module__", module) == module and n[0] != "_"]
        public = ", ".join(own) or "nothing"
        lacks = f"module {module!r} has no {name!r}" if name else f"{place!r} names no attribute: write {module}:NAME"
        raise UserError(f"{who}: {lacks}; it has {public}")
    return getattr(owner, name)

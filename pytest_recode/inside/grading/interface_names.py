"""Finds the interface that an unmarked hidden test tests, by the test's name or its file's.

Runs in the graders' processes and on the host. Called when tests are collected, and by the host before a grader
starts. Must not import the tests or the candidate.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

from collections.abc import Set


def interface_named(function: str, stem: str, interfaces: list[str]) -> tuple[str, str]:
    """The interface that a test function of the file `stem`.py tests; or "", and what is wrong, with the choices."""
    if len(interfaces) == 1:
        return interfaces[0], ""
    matches: dict[int, list[str]] = {}
    for name in interfaces:
        last = name.rpartition(".")[2]
        if f"{function}_".startswith(f"test_{last}_"):
            matches.setdefault(len(last), []).append(name)
    longest = matches[max(matches)] if matches else []
    if len(longest) == 1:
        return longest[0], ""
    of_module = [name for name in interfaces if f"test_{_module(name)}" == stem]
    if not longest and len(of_module) == 1:
        return of_module[0], ""
    why = "could test more than one interface" if longest or of_module else "does not say which interface it tests"
    return "", f'{why}: mark it @pytest.mark.interface("…") with one of {", ".join(interfaces)}'


def used(requested: Set[str], interfaces: list[str]) -> list[str]:
    """The interfaces that a test used, by the names that it requested of the candidate.

    `requested`: "module.name" of a module's, ".name" of an object's. A method's interface needs the name of its class and its own.
    """
    return [name for name in interfaces if _is_used(name, requested)]


def _is_used(interface: str, requested: Set[str]) -> bool:
    head, _, last = interface.rpartition(".")
    return (
        interface in requested
        or any(name.startswith(f"{interface}.") for name in requested)  # the interface is a module
        or (head in requested and (f".{last}" in requested or last == "__init__"))
    )


def not_among(name: object, interfaces: list[str]) -> str:
    """What is wrong with a mark that names none of the task's interfaces."""
    return f"interface({name!r}) is none of the task's interfaces: {', '.join(interfaces)}"


def _module(interface: str) -> str:
    """The last part of the name of the module that contains an interface, or is one."""
    return (interface.rpartition(".")[0] or interface).rpartition(".")[2]

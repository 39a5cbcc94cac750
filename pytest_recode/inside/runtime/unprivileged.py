"""The users that programs without namespaces run as if root runs pytest. Root could signal every process of the machine.

Runs in the keeper and the payload of a launch, and in second warm parents. Called by `launch.py` and `fork_server.py`. Must not
return to root's user in a process that runs a candidate.

Each launch has a user of its own, by the number of its keeper's process, so that it can signal neither its keeper nor another launch.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional

from . import linux_isolation


class User(NamedTuple):
    """`capability`: the number of one that it has, or None."""

    uid: int
    capability: Optional[int]


def of_this_process(users: Sequence[Any]) -> Optional[User]:
    """The user for what this process starts. `users`: the first user id that nobody has, how many there are, and the
    capability that each has or None; empty if pytest runs as an ordinary user, who cannot change to another."""
    if not users:
        return None
    first, count, capability = users
    return User(first + os.getpid() % count, capability)


def become(user: Optional[User]) -> None:
    """Change to `user` for ever; None changes nothing."""
    if user is None:
        return
    os.environ.update(LOGNAME="recode", USER="recode")  # no account has this id, and programs look up its name
    os.setgroups([])
    os.setresgid(user.uid, user.uid, user.uid)
    if user.capability is not None:
        linux_isolation.keep_capabilities(True)
    os.setresuid(user.uid, user.uid, user.uid)
    linux_isolation.set_capabilities(*[[] if user.capability is None else [user.capability]] * 3)


@contextmanager
def as_user(user: Optional[User]) -> Iterator[None]:
    """Act as `user` inside this context. For code of a task's author: a process that executes a candidate must `become` a user."""
    if user is None:
        yield
        return
    groups, capabilities = os.getgroups(), linux_isolation.capabilities()
    granted = [] if user.capability is None else [user.capability]
    os.setgroups([])
    os.setresgid(user.uid, user.uid, 0)
    if granted:
        linux_isolation.keep_capabilities(True)
    os.setresuid(user.uid, user.uid, 0)
    linux_isolation.set_capabilities(granted, capabilities[1], granted)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        linux_isolation.set_capabilities(*capabilities)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)
        if granted:
            linux_isolation.keep_capabilities(False)


@contextmanager
def seeing_as(user: Optional[User]) -> Iterator[None]:
    """Read /proc as `user`: root may not read all of it in a container that lacks CAP_SYS_PTRACE."""
    if user is None:
        yield
        return
    os.setegid(user.uid)
    os.seteuid(user.uid)
    try:
        if user.capability is not None:  # the kernel compares capabilities too
            _, permitted, inheritable = linux_isolation.capabilities()
            linux_isolation.set_capabilities([user.capability], permitted, inheritable)
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)

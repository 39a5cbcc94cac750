"""Checks of persistent programs: how `command_runner.run` runs and limits commands."""

from __future__ import annotations

from typing import Any

from pytest_recode.sandboxes.conformance.probe import Bench, Probe, marked, running

_PYTHON = "__import__('sys').executable"


def _run(probe: Probe, argv: str, seconds: float = 30, output_limit: int = 10_000) -> list[Any]:
    """`argv` is Python source of a list."""
    return list(
        probe.ask(
            "import os; from _recode.runtime import command_runner\n"
            f"done = command_runner.run({argv}, cwd=os.getcwd(), seconds={seconds}, output_limit={output_limit})\n"
            "result = [done.status, done.output.decode('utf-8', 'replace'), done.timed_out]"
        )
    )


def _sh(probe: Probe, command: str, seconds: float = 30, output_limit: int = 10_000) -> list[Any]:
    return _run(probe, repr(["/bin/sh", "-c", command]), seconds, output_limit)


def _python(probe: Probe, source: str, *arguments: str, seconds: float = 30) -> list[Any]:
    return _run(probe, f"[{_PYTHON}, '-c', {source!r}, *{list(arguments)!r}]", seconds)


def check_a_command_reports_its_status_and_output(bench: Bench) -> None:
    with bench.probe(persistent=True) as probe:
        assert _sh(probe, "echo out; echo err >&2; exit 3") == [3, "out\nerr\n", False]
        assert _sh(probe, "kill -9 $$") == [-9, "", False]
        assert _sh(probe, "cat") == [0, "", False], "the standard input of a command is not empty"
        assert _run(probe, "['/no/such/command']")[0] == 127
        assert _sh(probe, "echo kept > file; cat file") == [0, "kept\n", False]
        assert _sh(probe, "cat file") == [0, "kept\n", False], "a command does not see the files of an earlier command"


def check_a_commands_time_is_limited(bench: Bench) -> None:
    mark = marked()
    with bench.probe(persistent=True) as probe:
        status, output, timed_out = _python(
            probe, "print('begun', flush=True); import time; time.sleep(600)", mark, seconds=1
        )
        assert (status, output, timed_out) == (-9, "begun\n", True), f"{status} {output!r} {timed_out}"
        assert not running(mark), "the command is alive after its time limit"


def check_a_command_leaves_nothing_behind(bench: Bench) -> None:
    mark = marked()
    daemon = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait(); print('left', flush=True)"
    )
    with bench.probe(persistent=True) as probe:
        assert _python(probe, daemon, mark)[:2] == [0, "left\n"]
        assert not running(mark), "a daemon of a command is alive after the command"


def check_a_commands_output_is_cut_in_the_middle(bench: Bench) -> None:
    with bench.probe(persistent=True) as probe:
        text = _sh(probe, "echo first; yes x | head -c 30000000; echo last", output_limit=1000)[1]
        assert text.startswith("first\n"), "the beginning is lost"
        assert text.endswith("last\n"), "the end is lost"
        assert len(text) < 2000, f"{len(text)} characters of output, with a limit of 1000"
        assert " bytes cut " in text


def check_a_command_inherits_no_descriptor(bench: Bench) -> None:
    with bench.probe(persistent=True) as probe:
        found = _python(probe, "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))")[1]
        assert found.strip() == "[0, 1, 2, 3]", f"open in a command: {found} (3 is the listing itself)"


def check_a_command_is_held_to_its_memory(bench: Bench) -> None:
    with bench.probe(persistent=True) as probe:
        status, output, _ = _python(
            probe, f"b = [bytearray(b'x' * (1 << 20)) for _ in range({bench.limits.memory_mb * 2})]; print('granted')"
        )
        assert "granted" not in output, "twice the memory limit was granted"
        assert status != 0
        assert f"out of memory ({bench.limits.memory_mb} MiB)" in output or status in (-9, 137), f"{status} {output!r}"
        assert _sh(probe, "echo on")[:2] == [0, "on\n"], "the program did not survive its command"


def check_a_command_that_forks_without_end_is_over_in_time(bench: Bench) -> None:
    """Forks at most a thousand times, so that a sandbox without a limit of processes does not exhaust the machine."""
    bomb = (
        "import os, time\nend = time.monotonic() + 2\n"
        "left, filled = os.pipe()\nos.write(filled, b'.' * 1000)\nos.set_blocking(left, False)\n"
        "while time.monotonic() < end:\n"
        "    try:\n        os.read(left, 1)\n        os.fork()\n    except OSError:\n        time.sleep(0.01)"
    )
    mark = marked()
    with bench.probe(persistent=True) as probe:
        _python(probe, bomb, mark, seconds=1)
        assert not running(mark), "processes of the command are alive"
        assert _sh(probe, "echo on")[:2] == [0, "on\n"], "the program did not survive its command"

"""Checks of a sandbox with isolation "separate": its programs reach no other process and gain no privileges."""

from __future__ import annotations

import os
from dataclasses import replace

from pytest_recode.sandboxes.conformance.probe import Bench, marked, running, until

TRY = """
import os
def attempt(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except (OSError, ValueError) as exc:
        return type(exc).__name__
    return "done"
"""
"""Defines `attempt` in a probe: "done" if a call succeeds, else the name of its exception."""


def check_signals_stay_inside(bench: Bench) -> None:
    with bench.probe() as bystander, bench.probe() as probe:
        probe.send(
            "import os, signal\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP, signal.SIGKILL):\n"
            "    for target in [*range(1, 100), os.getppid(), 0, -1]:\n"
            "        if target != os.getpid():\n"
            "            try:\n"
            "                if target != 0 or number == signal.SIGKILL: os.kill(target, number)\n"
            "            except OSError: pass\n"
            "result = 1"
        )
        assert bystander.ask("result = 'alive'") == "alive", "another launch did not survive"
        with bench.probe() as after:
            assert after.ask("result = 1") == 1, "the sandbox cannot launch afterwards"


def check_nothing_else_can_be_traced(bench: Bench) -> None:
    with bench.probe() as bystander, bench.probe() as probe:
        bystander.ask("secret = 'a secret of another launch'")
        processes = probe.ask(
            TRY + "import ctypes, struct\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "result = {}\n"
            "for name in os.listdir('/proc'):\n"
            "    if not name.isdigit() or int(name) == os.getpid(): continue\n"
            "    pid = int(name)\n"
            "    done = [what for what in ('mem', 'environ', 'maps') if attempt(lambda: open(f'/proc/{pid}/{what}', 'rb').read(1)) == 'done']\n"
            "    done += ['cwd'] if attempt(os.readlink, f'/proc/{pid}/cwd') == 'done' else []\n"
            "    done += ['fd'] if attempt(os.listdir, f'/proc/{pid}/fd') == 'done' else []\n"
            "    done += ['attach'] if libc.ptrace(16, pid, 0, 0) == 0 else []\n"
            "    if done: result[name] = done\n"
        )
        assert processes == {}, f"the program can inspect or trace {processes}"
        assert bystander.ask("result = secret"), "another launch did not survive"


def check_no_process_outside_is_seen(bench: Bench) -> None:
    with bench.probe() as bystander, bench.probe() as probe:
        mark = marked()
        bystander.ask(
            "import subprocess, sys\n"
            f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])"
        )
        until(lambda: running(mark), "a process of another launch came up")
        seen = probe.ask(
            "import os\nresult = []\n"
            "for name in os.listdir('/proc'):\n"
            "    if name.isdigit():\n"
            "        result.append([int(name), open(f'/proc/{name}/cmdline', 'rb').read().decode('latin-1')])"
        )
        assert not [line for _, line in seen if mark in line], "it sees processes of another launch"
        assert len(seen) <= 3, f"the program sees {len(seen)} processes"


def check_there_are_no_rights_to_gain(bench: Bench) -> None:
    with bench.probe() as probe:
        status = dict(
            line.split(":\t", 1)
            for line in probe.ask("result = open('/proc/self/status').read()").splitlines()
            if ":\t" in line
        )
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0, (
            f"the program has capabilities: {status['CapEff']}"
        )
        assert status["NoNewPrivs"] == "1", "a set-uid program could give it privileges"
        assert probe.ask("import os; result = os.getuid()") != 0, "the program runs as root"
        got = probe.ask(
            "import ctypes, os\n"
            "libc = ctypes.CDLL(None)\n"
            "result = [name for name, call in {\n"
            "    'a user namespace': lambda: libc.unshare(0x10000000),\n"
            "    'a mount namespace': lambda: libc.unshare(0x20000),\n"
            "    'a mount': lambda: libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None),\n"
            "    'an unmount': lambda: libc.umount2(b'/proc', 2),\n"
            "    'another root': lambda: libc.chroot(b'/tmp'),\n"
            "    'another user': lambda: libc.setuid(0),\n"
            "}.items() if call() == 0]"
        )
        assert got == [], f"the program was granted {got}"


def check_commands_cannot_reach_their_program(bench: Bench) -> None:
    attack = (
        "import ctypes, os, resource, signal, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "reached = []\n"
        "for pid in {1, os.getppid(), *(int(n) for n in os.listdir('/proc') if n.isdigit())} - {os.getpid()}:\n"
        "    for what in ('mem', 'environ', 'fd'):\n"
        "        try:\n"
        "            os.listdir(f'/proc/{pid}/fd') if what == 'fd' else open(f'/proc/{pid}/{what}', 'rb').read(1)\n"
        "            reached.append((pid, what))\n"
        "        except OSError: pass\n"
        "    if libc.ptrace(16, pid, 0, 0) == 0: reached.append((pid, 'ptrace'))\n"
        "    try: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)); reached.append((pid, 'prlimit'))\n"
        "    except OSError: pass\n"
        "print(reached, flush=True)\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):\n"
        "    for pid in (1, os.getppid(), -1):\n"
        "        try: os.kill(pid, number)\n"
        "        except OSError: pass\n"
    )
    with bench.probe(persistent=True, limits=replace(bench.limits)) as probe:
        output = probe.ask(
            "import os, sys; from _recode.runtime import command_runner\n"
            f"result = command_runner.run([sys.executable, '-c', {attack!r}], cwd=os.getcwd(), seconds=30, output_limit=9999)[1].decode()"
        )
        assert output.startswith("[]"), f"a command reached {output}"
        assert probe.ask("result = 1 + 1") == 2, "the program did not survive its command"


def check_the_host_is_usable_throughout(bench: Bench) -> None:
    """`kill` ends a fork bomb, and the host can start processes while it runs."""
    with bench.probe() as probe:
        probe.send("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass")
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        probe.connection.kill()
    with bench.probe() as probe:
        assert probe.ask("result = 1") == 1

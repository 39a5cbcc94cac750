"""What the kernel counts for the whole machine is hidden from a candidate, which could read there what an earlier one has left."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import opened

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)
COUNTERS = """
import os
result = {}
names = ["vmstat", "zoneinfo", "buddyinfo", "diskstats", "schedstat", "softirqs", "interrupts", "pressure/cpu", "sys/fs/dentry-state", "slabinfo"]
for name in names:
    try:
        with open(f"/proc/{name}", "rb") as file:
            result[name] = file.read().decode("latin-1")
    except OSError:
        result[name] = ""
"""
USED_BY_LIBRARIES = """
import multiprocessing, os, re
os.getloadavg()
stat = open("/proc/stat").read()
result = {
    "processors": open("/proc/cpuinfo").read().count("processor") == os.cpu_count() == multiprocessing.cpu_count(),
    "memory": int(re.search(r"MemTotal: +(\\d+)", open("/proc/meminfo").read()).group(1)) > 0,
    "lines": sum(line.startswith("cpu") for line in stat.splitlines()) == os.cpu_count() + 1,
}
"""
WITHOUT_TRACES = """
import os, re
texts = [open(f"/proc/{name}").read() for name in ("stat", "loadavg", "uptime")]
result = sorted({number for text in texts for number in re.findall(r"(?<![a-z])\\d+", text)})
try:
    open("/proc/self/autogroup", "w")
    result.append("/proc can be written")
except OSError:
    pass
"""


@pytest.mark.parametrize("kind", ["bubblewrap", "docker"])
def test_counters_are_hidden_and_what_libraries_read_is_not(
    kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    bench = Bench(sandbox=opened(kind, context, sandboxes), environment=Environment(), limits=LIMITS)
    with bench.probe() as probe:
        assert {name: text for name, text in probe.ask(COUNTERS).items() if text} == {}
        assert set(probe.ask(USED_BY_LIBRARIES).values()) == {True}
        if kind == "bubblewrap":  # docker shows these three files
            assert probe.ask(WITHOUT_TRACES) == ["0"]


NO_TERMINAL = """
import os
try:
    result = str(os.openpty())
except OSError as error:
    result = type(error).__name__
"""


@pytest.mark.parametrize("kind", ["bubblewrap", "docker"])
def test_threads_of_the_kernel_do_not_work_for_a_terminal(
    kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    """What a program writes to a terminal is work of the kernel, which no limit of the launch counts."""
    bench = Bench(sandbox=opened(kind, context, sandboxes), environment=Environment(), limits=LIMITS)
    with bench.probe() as probe:
        assert "Error" in probe.ask(NO_TERMINAL)

"""What a Docker container is created with: its image, limits and labels. Runs on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_recode.inside.runtime.launch import WORK
from pytest_recode.inside.workspace.shown_paths import places
from pytest_recode.sandboxes.daemon import host
from pytest_recode.sandboxes.interpreters import FIXED
from pytest_recode.sandboxes.leftovers import mark
from pytest_recode.sandboxes.shipping import WarmKey, source

LABEL = "pytest-recode"
RUN = "pytest-recode.run"
OWNER = "pytest-recode.owner"
HOST = "pytest-recode.host"

# what Docker hides by default, then what the kernel counts for the whole machine: an earlier candidate could leave a message there
_HIDDEN = (
    *(
        "acpi",
        "asound",
        "interrupts",
        "kcore",
        "keys",
        "latency_stats",
        "sched_debug",
        "scsi",
        "timer_list",
        "timer_stats",
    ),
    *(
        "buddyinfo",
        "diskstats",
        "pagetypeinfo",
        "pressure",
        "schedstat",
        "slabinfo",
        "softirqs",
        "sys/fs",
        "vmallocinfo",
    ),
    *("vmstat", "zoneinfo"),
)
_HIDDEN_OF_SYS = ("/sys/firmware", "/sys/devices/virtual/powercap")
_UID = 65534
_ROOT = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID")
"""Capabilities of root where a task's own script judges as root: it can keep processes apart by users, and no more."""
_OWN_MB = 64  # for the first process of a container
_OWN_PIDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerKind:
    """What a container is created for; launches with equal values can use the same spare container."""

    key: WarmKey
    image: str
    image_name: str  # for messages
    memory_mb: int
    disk_mb: int
    pids: int
    workdir: str = ""  # as in `Environment`
    variables: tuple[tuple[str, str], ...] = ()
    root: bool = False

    @property
    def work(self) -> str:
        """The path of the working directory."""
        return self.workdir or WORK


def config(docker: Any, kind: ContainerKind, run: str) -> dict[str, Any]:
    from docker.types import LogConfig, Ulimit

    uid = 0 if kind.root else _UID
    memory = f"{kind.memory_mb + kind.disk_mb + _OWN_MB}m"  # the files in a tmpfs count as memory
    file_size = kind.disk_mb << 20
    # `most_files` in inside/runtime/monitor.py: each uses a kilobyte of kernel memory
    inodes = kind.disk_mb * 256 + 1024
    host_config = docker.create_host_config(
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        cap_add=[*_ROOT] if kind.root else [],
        security_opt=["no-new-privileges"],
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=10**9,
        pids_limit=kind.pids + _OWN_PIDS,
        tmpfs={
            "/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={kind.disk_mb}m,nr_inodes={inodes}",
            # no terminals: threads of the kernel, which no limit counts, do the work of one
            "/dev/pts": "ro,noexec,nosuid,nodev,size=4k",
            "/dev/shm": f"rw,noexec,nosuid,nodev,mode=1777,size={min(64, kind.disk_mb)}m,nr_inodes={inodes}",
            **dict.fromkeys(
                (*filter(None, [kind.workdir]), *kind.key.places),
                f"rw,exec,nosuid,nodev,mode=755,uid={uid},gid={uid},size={kind.disk_mb}m,nr_inodes={inodes}",
            ),
        },
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=1024, hard=1024),
            Ulimit(name="fsize", soft=file_size, hard=file_size),
        ],
        log_config=LogConfig(type="none"),
        binds={path: {"bind": place, "mode": "ro"} for path, place in places(kind.key.shown).items()},
        auto_remove=True,
    )
    if not kind.key.persistent:
        host_config["MaskedPaths"] = [*_HIDDEN_OF_SYS, *(f"/proc/{name}" for name in _HIDDEN)]
    config: dict[str, Any] = docker.create_container_config(
        image=kind.image,
        command=[],
        entrypoint=["python3", "-s", "-B", "-c", source("runtime.bootstrap")],
        user=f"{uid}:{uid}",
        hostname="sandbox",
        working_dir="/tmp",
        environment={**FIXED, **dict(kind.variables), "HOME": "/tmp/home"},
        labels={LABEL: "1", RUN: run, OWNER: mark(run), HOST: host()},
        stdin_open=True,
        stop_signal="SIGKILL",  # a daemon that restarts would wait 10 s after SIGTERM
        host_config=host_config,
    )
    config.update(StdinOnce=True, AttachStdin=True, AttachStdout=True, AttachStderr=True, Tty=False)
    return config

"""The attacks that a sandbox must prevent. The self-test runs this source in a kernel, as a student's cell.

    try_attacks(targets)  try the attacks, and publish which succeeded
    make_files(folder)    try to exhaust the machine with files
    send_frames()         try to exhaust the grader's memory with data

This file is never imported, and uses only the standard library and IPython.
"""

import fcntl
import hashlib
import mmap
import os
import socket
import stat
import threading
from collections.abc import Callable
from functools import partial
from typing import TypedDict

from IPython.display import display

FILES, FRAME, THREADS = 10**6, 4 << 30, 2000


class Targets(TypedDict):
    """Targets outside the sandbox (a judge bundle, a server, the grader's process), and the memory limit."""

    bundle: str
    port: int
    parent: int
    environ: str
    memory: int


def try_attacks(targets: Targets, mime: str) -> None:
    """Publish for each attack whether it succeeded."""
    found = {name: _succeeds(attack) for name, attack in _attacks(targets).items()}
    display({mime: found}, raw=True)


def _succeeds(attack: Callable[[], object]) -> bool:
    try:
        attack()
    except BaseException:
        return False
    return True


def _attacks(targets: Targets) -> dict[str, Callable[[], object]]:
    """The attacks, by the phrase that reports their success."""
    bundle, parent = targets["bundle"], targets["parent"]

    def environ() -> None:
        # compare the content: in a PID namespace, the number may belong to another process
        with open(f"/proc/{parent}/environ", "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == targets["environ"]

    def signal() -> None:
        assert parent != os.getpid()
        os.kill(parent, 0)

    return {
        "reads the judge bundle": lambda: open(bundle, "rb").read(1),
        "writes beside it": lambda: open(f"{bundle}.written", "wb"),
        "empties it": lambda: os.truncate(bundle, 0),
        "lists its folder": lambda: os.listdir(os.path.dirname(bundle)),
        "reaches the network": lambda: socket.create_connection(("127.0.0.1", targets["port"]), 1),
        "makes a socket": lambda: socket.socket(socket.AF_UNIX),
        "sees the parent": environ,
        "signals the parent": signal,
        "lets a pipe signal it": lambda: fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, parent),
        "slows the parent down": lambda: _priority(parent),
        "starts a process": _start_process,
        "gets real-time priority": _real_time,
        "signals others by a lock": lambda: fcntl.flock(open(os.__file__, "rb"), fcntl.LOCK_SH),
        "changes the kernel's settings": lambda: _open_for_writing("/proc/sys/kernel/core_pattern"),
        "writes into process 1": lambda: _open_for_writing("/proc/1/mem"),
        "exceeds the memory limit": lambda: mmap.mmap(-1, targets["memory"]),
        f"starts {THREADS:,} threads": _threads,
    }  # fmt: skip


def _open_for_writing(path: str) -> None:  # only open it: if that succeeds, writing would do harm
    os.close(os.open(path, os.O_WRONLY))


def _priority(parent: int) -> None:  # sets the priority to its current value
    assert parent != os.getpid()
    os.setpriority(os.PRIO_PROCESS, parent, os.getpriority(os.PRIO_PROCESS, parent))


def _real_time() -> None:
    """Drop it immediately: with real-time priority, the next attacks would block the whole machine."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _start_process() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _threads() -> None:
    """Start threads that use so little memory that only a limit on their number stops them.

    They end one after the other, because all at once they would keep the machine busy for seconds.
    """
    gate = threading.Lock()

    def wait() -> None:
        with gate:
            pass

    before = threading.stack_size(1 << 16)
    try:
        with gate:
            for _ in range(THREADS):
                threading.Thread(target=wait, daemon=True).start()
    finally:
        threading.stack_size(before)


def make_files(folder: str) -> None:
    """Make empty files, which have no bytes but use memory."""
    for n in range(FILES):
        os.close(os.open(f"{folder}/{n}", os.O_CREAT | os.O_WRONLY))


def send_frames() -> None:
    """Send the header of a huge ZMTP frame, followed by data, to all connected sockets."""
    sent = b"\2" + FRAME.to_bytes(8, "big") + bytes(1 << 16)
    while True:
        for descriptor in range(3, 256):
            _succeeds(partial(_send, descriptor, sent))


def _send(descriptor: int, sent: bytes) -> None:
    assert stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    os.set_blocking(descriptor, False)
    os.write(descriptor, sent)

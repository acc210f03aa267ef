"""What a sandboxed Python does first: give up what a student must not have, then start.

    python -I -S boot.py SETTINGS

The settings are JSON: limits, paths, and either a connection file, for a kernel, or a list of
things that must fail, for the self-test. Everything up to `app.start()` is ours; a student's
cell is the first thing that the kernel runs after it. Runs on the standard library and
ipykernel; it is copied beside lockdown.py into the image, and imports nothing of minigrad.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import resource
import signal
import socket
import sys
from typing import Any


def main() -> None:
    """Lock this process down, then run the kernel; or a probe, and print what it could do."""
    settings = json.loads(sys.argv[1])
    if os.getpid() == 1:
        _be_a_child(settings)
    sys.path.insert(0, settings["image"])
    _limit(settings["limits"])
    _die_with_parent()
    _restrict_files(settings)
    if settings["seccomp"]:
        _lockdown().drop_capabilities()
    if "probe" in settings:
        if settings["seccomp"]:
            _lockdown().restrict_calls()
        print(json.dumps({"could": _probe(settings["probe"]), "broken": _broken(settings)}))
    else:
        _kernel(settings)


def _be_a_child(settings: dict[str, Any]) -> None:
    """The first process of a container cannot be killed from within, even by itself. Be the second.

    The first one waits. It gives up as much as the second, and cannot be written to by it.
    """
    if pid := os.fork():
        not_dumpable = 4
        ctypes.CDLL(None).prctl(not_dumpable, 0, 0, 0, 0)  # so /proc/1/mem is not the student's
        _limit(settings["limits"])
        _restrict_files({**settings, "landlock": settings["landlock"] and NO_FILES})
        if settings["seccomp"]:
            _lockdown().drop_capabilities()
            _lockdown().restrict_calls()
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) != 0)


def _lockdown() -> Any:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        import lockdown  # type: ignore[import-not-found,unused-ignore]
    finally:
        del sys.path[0]
    return lockdown


NO_FILES: dict[str, Any] = {"read": [], "write": [], "list": []}


def _restrict_files(settings: dict[str, Any]) -> None:
    """Landlock: for the tier of this name what holds, and within the others one more wall, if it is there."""
    paths = settings["landlock"]
    if paths is not None and (settings["needs_landlock"] or _lockdown().landlock_version()):
        _lockdown().restrict_files(paths["read"], paths["write"], paths["list"])


def _limit(limits: dict[str, int]) -> None:
    """Limits of this process, which it cannot raise again."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS knows some limits only by name
            resource.setrlimit(kind, (value, value))


def _die_with_parent() -> None:
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


def _kernel(settings: dict[str, Any]) -> None:
    """A kernel on unix sockets, which listens before it can no longer make any."""
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance()
    quiet = ["--HistoryManager.enabled=False", "--IPCompleter.use_jedi=False", "--colors=NoColor"]
    app.initialize(["-f", settings["connection"], "--log-level=50", *quiet])
    for magic in ("matplotlib", "pylab", "autoreload", "pip", "conda"):  # many cells begin so
        app.shell.register_magic_function(lambda line: None, "line", magic)
    for magic in ("check", "progress", "autograd"):  # minigrad's: the cell below one is run
        app.shell.register_magic_function(
            lambda line, cell="": app.shell.run_cell(cell) and None, "line_cell", magic
        )
    app.shell.system = app.shell.getoutput = lambda *command, **settings: None  # and so:  !pip ...
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a deadline ends the kernel, never half a cell
    os.chmod(os.path.dirname(settings["connection"]), 0o500)  # no files there beside the sockets
    if settings["seccomp"]:
        _lockdown().restrict_calls()
    app.start()


def _probe(probe: dict[str, Any]) -> dict[str, bool]:
    """For each thing that must not be possible: was it?"""

    def tried(attempt: Any) -> bool:
        try:
            attempt()
        except BaseException:
            return False
        return True

    def read(path: str) -> None:
        with open(path, "rb") as file:
            file.read(1)

    def parent() -> (
        None
    ):  # by what is in it: in an own table of processes its number may be another's
        with open(f"/proc/{probe['parent']}/environ", "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == probe["environ"]

    def write(path: str) -> None:
        with open(path, "wb") as file:
            file.write(b"x")

    def opened_to_write(path: str) -> None:  # nothing is written: it may be possible
        os.close(os.open(path, os.O_WRONLY))

    def real_time() -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

    def child() -> None:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    return {
        "reads a private file": tried(lambda: read(probe["canary"])),
        "writes beside it": tried(lambda: write(probe["canary"] + ".written")),
        "reaches the network": tried(lambda: socket.create_connection(("127.0.0.1", probe["port"]), 1)),
        "sees the parent": tried(parent),
        "signals the parent": probe["parent"] != os.getpid() and tried(lambda: os.kill(probe["parent"], 0)),
        "starts a process": tried(child),
        "takes real-time priority": tried(real_time),
        "changes the kernel's settings": tried(lambda: opened_to_write("/proc/sys/kernel/core_pattern")),
        "writes into the first process": tried(lambda: opened_to_write("/proc/1/mem")),
    }  # fmt: skip


def _broken(settings: dict[str, Any]) -> str:
    """Why a kernel could not run here; nothing if it could."""
    ours = list(sys.version_info[:2])
    if settings["python"] != ours:
        theirs = ".".join(map(str, settings["python"]))
        return f"its Python is {ours[0]}.{ours[1]}, and the packages are for {theirs}"
    try:
        import numpy  # noqa: F401
        import zmq  # noqa: F401

        path = os.path.join(settings["private"], "probe")
        with open(path, "w", encoding="utf-8"):
            os.unlink(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


if __name__ == "__main__":
    main()

"""What a sandboxed Python does first: give up what a student must not have, then start a kernel.

    python -S -s -P boot.py SETTINGS

The settings are JSON: limits, paths, a connection file. Everything up to `app.start()` is ours; a
student's cell is the first thing that the kernel runs after it. Runs on the standard library and
ipykernel; it is copied beside lockdown.py into the image, and imports nothing of minigrad.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
from typing import Any

SET_DEATH_SIGNAL, SET_DUMPABLE = 1, 4  # of prctl(2)


def boot() -> None:
    """Lock this process down, then run the kernel."""
    settings = json.loads(sys.argv[1])
    ours = list(sys.version_info[:2])
    if settings["python"] != ours:
        here, there = (".".join(map(str, version)) for version in (ours, settings["python"]))
        sys.exit(f"its Python is {here}, and the packages are for {there}")
    _limit(settings)
    if settings["seccomp"]:
        _lockdown().drop_capabilities(settings["user"], settings["needs_landlock"])
    _die_with_parent()
    if os.getpid() == 1:
        _be_a_child(settings)
    sys.path.insert(0, settings["image"])
    _restrict_files(settings)
    _kernel(settings)


def _be_a_child(settings: dict[str, Any]) -> None:
    """The first process of a container cannot be killed from within, even by itself. Be the second.

    The first one waits, and looks how many files there are: memory that their sizes do not tell.
    It gives up as much as the second, and cannot be written to by it. In bwrap it also waits for the
    end of the grader, which holds the other end of its standard input: if root grades, bwrap may not
    send a signal to whom we have become.
    """
    if not (pid := os.fork()):
        _die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        return
    ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)  # so /proc/1/mem is not the student's
    _restrict_files({**settings, "landlock": settings["landlock"] and NO_FILES})
    if settings["seccomp"]:
        _lockdown().restrict_calls()
    status = settings["too_many"] << 8  # an exit status, as waitpid gives it
    folders = settings["folders"]
    with contextlib.suppress(OSError, RecursionError):  # a folder that cannot be looked into
        while sum(map(_files_in, folders)) <= settings["files"]:
            ended, found = os.waitpid(pid, os.WNOHANG)
            if ended:
                status = found
                break
            if select.select(settings["ends"], [], [], LOOK)[0]:
                break
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)  # and with the first process ends the other


LOOK = 0.05  # seconds


def _files_in(folder: str) -> int:
    """How many files and folders a folder of its own file system holds, whoever may see them."""
    about = os.statvfs(folder)
    if about.f_files:
        return about.f_files - about.f_ffree

    def refused(error: OSError) -> None:
        raise error

    # gVisor counts none
    return sum(len(more) + len(files) for _, more, files in os.walk(folder, onerror=refused))


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


def _limit(settings: dict[str, Any]) -> None:
    """Limits of this process, which it cannot raise again.

    Threads are counted by user, in a namespace of users: this has one of its own, or is given a user
    that nobody else is (lockdown.py). Without either others' would count, and there is no limit.
    """
    limits = settings["limits"]
    if settings["namespace"] and not _lockdown().own_users():
        limits = {name: value for name, value in limits.items() if name != "NPROC"}
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS knows some limits only by name
            resource.setrlimit(kind, (value, value))


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


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


if __name__ == "__main__":
    boot()

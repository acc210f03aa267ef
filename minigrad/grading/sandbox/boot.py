"""The first code in a sandboxed Python: drop privileges, then start a kernel.

    python -S -s -P boot.py SETTINGS

SETTINGS is JSON: limits, paths, a connection file. Everything before `app.start()` is trusted code;
students' cells run after it. This file uses only the standard library and ipykernel. It is copied
into the image together with lockdown.py, and imports nothing from minigrad.
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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # which -P leaves out
import lockdown  # type: ignore[import-not-found,unused-ignore]  # isort: skip

del sys.path[0]

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
        lockdown.drop_capabilities(settings["user"], settings["needs_landlock"])
    _die_with_parent()
    if os.getpid() == 1:
        _fork_and_watch(settings)
    sys.path.insert(0, settings["image"])
    _restrict_files(settings)
    _kernel(settings)


def _fork_and_watch(settings: dict[str, Any]) -> None:
    """Fork, and continue in the child: PID 1 of a container ignores fatal signals from inside.

    PID 1 waits for the child and counts files, because many empty files use memory that their sizes do
    not show. It drops the same privileges as the child, which cannot write to its memory. In bwrap it
    also watches its standard input, which ends with the grader: if the grader runs as root, bwrap cannot
    signal the user that we have become.
    """
    if not (pid := os.fork()):
        _die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        return
    ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)  # so that the child cannot open /proc/1/mem
    _restrict_files({**settings, "landlock": settings["landlock"] and NO_FILES})
    if settings["seccomp"]:
        lockdown.restrict_calls()
    ended, status = 0, settings["too_many"] << 8  # an exit status, as waitpid gives it
    folders = settings["folders"]
    with contextlib.suppress(OSError, RecursionError):  # a folder that cannot be listed
        while sum(map(_files_in, folders)) <= settings["files"]:
            ended, found = os.waitpid(pid, os.WNOHANG)
            if ended:
                status = found
                break
            if select.select(settings["ends"], [], [], LOOK)[0]:
                break
    code = os.waitstatus_to_exitcode(status)
    if ended and code == settings["too_many"]:  # its own status; ours would say that it made files
        code = 1
    os._exit(code if code >= 0 else 128 - code)  # when PID 1 exits, the kernel kills the child


LOOK = 0.05  # seconds


def _files_in(folder: str) -> int:
    """Count the files and folders in a folder that is its own file system, even hidden ones."""
    about = os.statvfs(folder)
    if about.f_files:
        return about.f_files - about.f_ffree

    def refused(error: OSError) -> None:
        raise error

    # gVisor reports no counts
    return sum(len(more) + len(files) for _, more, files in os.walk(folder, onerror=refused))


NO_FILES: dict[str, Any] = {"read": [], "write": [], "list": []}


def _restrict_files(settings: dict[str, Any]) -> None:
    """Apply Landlock. The landlock tier requires it; in the other tiers it is an extra layer, if available."""
    paths = settings["landlock"]
    if paths is not None and (settings["needs_landlock"] or lockdown.landlock_version()):
        read = paths["read"]
        if read == ["/"]:  # but not /proc, which names the machine's folders
            read = [f"/{name}" for name in os.listdir("/") if name != "proc"]
        lockdown.restrict_files(read, paths["write"], paths["list"])


def _limit(settings: dict[str, Any]) -> None:
    """Set resource limits, which this process cannot raise again.

    The kernel counts threads per user and user namespace. So we enter a new user namespace, or run as
    a user that nobody else has (lockdown.py). If neither works, the threads of other processes would
    count, too, and NPROC is not limited.
    """
    limits = settings["limits"]
    if settings["namespace"] and not lockdown.own_users():
        limits = {name: value for name, value in limits.items() if name != "NPROC"}
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS does not support all of them
            resource.setrlimit(kind, (value, value))


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def _kernel(settings: dict[str, Any]) -> None:
    """Run a kernel on unix sockets. They are created before seccomp forbids making sockets."""
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance()
    quiet = ["--HistoryManager.enabled=False", "--IPCompleter.use_jedi=False", "--colors=NoColor"]
    app.initialize(["-f", settings["connection"], "--log-level=50", *quiet])
    _ignore_what_is_not_here(app.shell)
    sys.path.append("")  # last, so that a module that a cell writes hides no other
    # nobody reads what is printed, and it must not count as published
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8", errors="replace")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a deadline kills the kernel
    os.chmod(os.path.dirname(settings["connection"]), 0o500)  # no new files next to the sockets
    if settings["seccomp"]:
        lockdown.restrict_calls()
    app.start()


def _ignore_what_is_not_here(shell: Any) -> None:
    """Let a cell continue below a line magic that fails. Ignore plots, and shell commands, which start processes."""
    run = shell.run_line_magic

    def run_line_magic(name: str, line: str, _stack_depth: int = 1) -> Any:
        with contextlib.suppress(Exception):
            return run(name, line, _stack_depth=_stack_depth + 1)

    shell.run_line_magic = run_line_magic
    for magic in ("matplotlib", "pylab", "autoreload", "pip", "conda"):
        shell.register_magic_function(lambda line: None, "line", magic)
    for magic in ("check", "progress", "autograd"):  # minigrad's: just run the cell
        shell.register_magic_function(
            lambda line, cell="": shell.run_cell(cell) and None, "line_cell", magic
        )
    shell.system = lambda *command, **settings: None
    shell.getoutput = lambda *command, **settings: []


if __name__ == "__main__":
    boot()

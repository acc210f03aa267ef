"""Start a Python in one of the tiers of isolation.

    gvisor     a separate user-space kernel, in an unprivileged process (container.py); with seccomp
    bwrap      separate namespaces for files, processes, network and users; with seccomp
    landlock   the machine's namespaces, but only a few files can be opened; with seccomp
    container  like bwrap, but started by podman or docker (container.py); with seccomp
    none       a plain process of this user; only if requested by name

In all tiers, the process has resource limits, a clean environment and an empty folder, and dies with
its parent. If started by root, it becomes a user that nobody else has. In gvisor, bwrap and a
container, path names reveal nothing about the machine, since a process may read the command line of
its own sandbox.
"""

import itertools
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import IO, Any, Literal

from minigrad.grading.sandbox import container

Tier = Literal["gvisor", "bwrap", "landlock", "container", "none"]
TIERS: tuple[Tier, ...] = ("gvisor", "bwrap", "landlock", "container", "none")

MEGABYTE = 1024 * 1024
THREADS = 256
FILES = 5000
TOO_MANY = 75  # the exit status of a kernel that made more of them
PACKAGES = ("site-packages", "dist-packages")  # folders in the standard library's, to be hidden
# Asked for here, and not by threads that record submissions: the first two to ask at once may get None.
LIBDIR: str = sysconfig.get_config_var("LIBDIR") or ""


@dataclass(frozen=True)
class Limits:
    """Resource limits for a submission.

    cell, question, submission   wall-clock limits in seconds
    start       seconds for a kernel to start
    memory      megabytes of address space of one kernel
    disk        megabytes that a kernel may write
    messages, message_bytes, bytes    limits on what a kernel may send for one cell
    """

    cell: float = 10.0
    question: float = 30.0
    submission: float = 120.0
    start: float = 30.0
    memory: int = 2048
    disk: int = 32
    messages: int = 2000
    message_bytes: int = 1 * MEGABYTE
    bytes: int = 8 * MEGABYTE

    def of_process(self) -> dict[str, int]:
        """The limits that the process sets for itself with setrlimit."""
        return {
            "AS": self.memory * MEGABYTE,
            "FSIZE": self.disk * MEGABYTE,
            "CORE": 0,
            "NOFILE": 256,
            "CPU": int(self.question + self.start) + 5,
        }


class Process:
    """A sandboxed Python and its private folder, as a context manager that cleans up.

    folder       the path of the private folder, to which the child may write
    inside       the path of the same folder inside the sandbox
    own_paths    does the child see a file system of its own, rather than this machine's?
    disk         bytes that it may write; in a file system of its own, to each folder
    user         uid of the child if the grader runs as root; nobody else has it
    stderr       where its standard error goes
    """

    def __init__(
        self, tier: Tier, image: Path, limits: Limits, stderr: int | IO[bytes] = subprocess.DEVNULL
    ) -> None:
        self.tier, self.image, self.limits, self.stderr = tier, image, limits, stderr
        # the path of a socket may have at most 107 bytes
        short = len(os.fsencode(tempfile.gettempdir())) < 90
        self.folder = Path(tempfile.mkdtemp(prefix="mg-", dir=None if short else "/tmp"))
        self.own_paths = tier not in ("landlock", "none")
        self.disk = limits.disk * MEGABYTE
        self.unknown = self.disk // 4  # the bytes assumed for a file whose size cannot be read
        self.inside = "/run/kernel" if self.own_paths else str(self.folder)
        self.user = None if tier == "none" else _unused_uid()
        self.child: subprocess.Popen[bytes] | None = None
        self._status: int | None = None  # as in Popen: the number of a signal is negative
        self.bundle: Path | None = None  # gVisor's bundle, which the child must not see

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()
        _remove(self.folder)
        if self.bundle is not None:
            shutil.rmtree(self.bundle, ignore_errors=True)

    def start(self, settings: dict[str, Any]) -> None:
        """Run boot.py in the sandbox with these settings and those of the tier."""
        within = "/image" if self.own_paths else str(self.image)
        work = "/work" if self.own_paths else str(self.folder / "work")
        if not self.own_paths:
            (self.folder / "work").mkdir()
        if self.user is not None:
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, self.user, self.user)
        settings = {**settings, **self._settings(within)}
        # -S, -s, -P: nothing is imported from the machine's site-packages or the folder
        options = ["-S", "-s", "-P", "-B", f"{within}/boot.py", json.dumps(settings)]
        environment = _environment(work)
        if self.tier in SUPERVISED:  # it could outlive us, so another process stops it
            command = SUPERVISED[self.tier](self, options, environment)
            script = os.path.join(os.path.dirname(__file__), "supervise.py")
            command = [sys.executable, "-I", "-S", script, *command]
            self._start(command, "/", stdin=subprocess.PIPE)
        elif self.tier == "bwrap":
            # pass the arguments in an unlinked file, so that nobody else can read them
            with tempfile.TemporaryFile() as file:
                file.write("\0".join(self._bwrap(environment)).encode())
                file.seek(0)
                command = [container.installed("bwrap"), "--args", str(file.fileno()), "--"]
                command += [container.OWN_PYTHON, *options]
                self._start(command, "/", pass_fds=[file.fileno()], stdin=subprocess.PIPE)
        else:
            self._start([_python(), *options], work, env=environment)

    def _settings(self, within: str) -> dict[str, Any]:
        """The settings for boot.py, except the connection file."""
        limits = self.limits.of_process()
        if self.tier != "none" and not (self.tier == "container" and not container.own_threads()):
            limits["NPROC"] = THREADS
        by_us = self.tier in ("bwrap", "landlock")
        return {
            "image": f"{within}/site",
            "python": sys.version_info[:2],
            "limits": limits,
            "files": FILES,
            "too_many": TOO_MANY,
            "folders": container.FOLDERS,
            "ends": [0] if self.tier == "bwrap" else [],
            "user": self.user if by_us else None,
            "namespace": self.tier == "landlock" and self.user is None,
            "landlock": None if self.tier == "none" else self._paths(),
            "needs_landlock": self.tier == "landlock",
            "seccomp": self.tier != "none",
        }

    def _start(self, command: list[str], cwd: str, **more: Any) -> None:
        quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.DEVNULL)
        settings = {**quiet, "stderr": self.stderr, **more}
        self.child = subprocess.Popen(command, cwd=cwd, start_new_session=True, **settings)

    def alive(self) -> bool:
        """Is it running? Its PID is not reused before kill(), which reaps it."""
        if self.child is None or self.child.returncode is not None:
            return False
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13
            self._status = self.child.poll()
            return self._status is None
        leave_it = os.WEXITED | os.WNOHANG | os.WNOWAIT
        ended = os.waitid(os.P_PID, self.child.pid, leave_it)
        if ended is not None:
            self._status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        return ended is None

    def _wait(self, seconds: float) -> None:
        """Wait until it has ended, but no longer than this."""
        ends = time.monotonic() + seconds
        while self.alive() and time.monotonic() < ends:
            time.sleep(0.005)

    def ending(self) -> str:
        """How it ended: `exit status 1`, `signal SIGSEGV`; "" if it is still running after a second.

        For a container the wait is longer, because the engine cleans up first.
        """
        self._wait(container.PATIENCE if self.tier == "container" else 1)
        status = self._status
        if status is None:
            return ""
        if status == TOO_MANY and self.own_paths:
            return f"more than {FILES:,} files, or a folder that cannot be read"
        number = -status if status < 0 else status - 128  # 128 + signal, as in a shell and boot.py
        if number in {s.value for s in signal.Signals}:
            return f"signal {signal.Signals(number).name}"
        return f"exit status {status}"

    def kill(self) -> None:
        """Kill it and all its children. bwrap's PID namespace ends with its first process.

        It is reaped only after that, because the PID of a reaped process may be reused.
        """
        if self.child is None:
            return
        if self.child.stdin is not None:  # its supervisor or PID 1 stops it
            self.child.stdin.close()
            self._wait(container.PATIENCE)
        if self.child.returncode is not None:
            return
        # PermissionError: macOS, if the process has already ended
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()

    def too_much_written(self) -> bool:
        """Has it written more than the limit, or made an unreadable folder? In other tiers, files are in memory."""

        def refused(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                raise error

        size = count = 0
        try:
            for folder, folders, files in os.walk(self.folder, onerror=refused):
                count += len(folders) + len(files)
                size += sum(self._size(os.path.join(folder, name)) for name in files)
                if count > FILES or size > self.disk:
                    return True
            return size + self._unlinked_bytes() > self.disk
        except ProcessLookupError:  # it has ended
            return False
        except (OSError, RecursionError):  # a folder made unreadable on purpose
            return True

    def _size(self, path: str, descriptor: bool = False) -> int:
        """Bytes of a file; for a descriptor, only if the file is unlinked."""
        try:
            file = os.stat(path, follow_symlinks=descriptor)
        except FileNotFoundError:  # constant renaming must not hide files
            return self.unknown
        nameless = stat.S_ISREG(file.st_mode) and not file.st_nlink
        return file.st_size if nameless or not descriptor else 0

    def _unlinked_bytes(self) -> int:
        """Bytes of unlinked files that the child still has open or mapped."""
        if self.own_paths or sys.platform != "linux" or not self.alive():
            return 0
        assert self.child is not None
        of_it = f"/proc/{self.child.pid}/task"
        try:
            # the first thread may have ended; all threads share one table of descriptors (lockdown.py)
            tables = (f"{of_it}/{thread}/fd" for thread in os.listdir(of_it))
            table = next(t for t in tables if os.path.exists(t) and os.listdir(t))
            size = sum(self._size(f"{table}/{k}", True) for k in os.listdir(table))
            maps = Path(table).with_name("maps").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, StopIteration):  # it has ended
            return 0
        mapped: Counter[str] = Counter()  # by inode
        for line in maps.splitlines():
            if str(self.folder) in line and line.endswith(" (deleted)"):
                pages, _, _, _, inode, _ = line.split(None, 5)
                start, end = pages.split("-")
                mapped[inode] += int(end, 16) - int(start, 16)
        # only a part of a file may be mapped
        return size + sum(max(part, self.unknown) for part in mapped.values())

    def _bwrap(self, environment: dict[str, str]) -> list[str]:
        if self.user is None:
            arguments = ["--unshare-all", "--unshare-user", "--disable-userns"]
            arguments += ["--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]
        else:  # boot.py switches to the user, which would not exist in a user namespace
            arguments = [f"--unshare-{what}" for what in ("ipc", "pid", "net", "uts", "cgroup-try")]
            arguments += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        # --as-pid-1: boot.py is PID 1 and drops as many privileges as its child; bwrap would not
        arguments += ["--die-with-parent", "--as-pid-1", "--new-session", "--clearenv"]
        arguments += ["--hostname", "grading"]
        for name, value in environment.items():
            arguments += ["--setenv", name, value]
        shown = self.mounts()
        private = (str(self.folder), "/run/kernel")
        above = {parent for _, there in (*shown, private) for parent in Path(there).parents[:-1]}
        for parent in sorted(map(str, above)):  # bwrap would make them accessible to root only
            arguments += ["--perms", "0755", "--dir", parent]
        for path, there in shown:
            arguments += ["--ro-bind", path, there]
        arguments += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        for folder in container.FOLDERS:
            arguments += ["--perms", "1777", "--size", str(self.disk), "--tmpfs", folder]
        arguments += ["--bind", *private, "--chdir", "/work"]
        return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]

    def mounts(self) -> list[tuple[str, str]]:
        """What to mount read-only: Python, the image, and an empty folder over each that must be hidden."""
        shown, hidden = _python_tree()
        empty = str(self.image / "empty")
        return [*shown, (str(self.image), "/image"), *((empty, folder) for folder in hidden)]

    def _paths(self) -> dict[str, list[str]]:
        """The paths that Landlock allows. In tiers with their own file system, it only restricts writing."""
        if self.own_paths:
            return {
                "read": ["/"],
                "list": [],
                "write": ["/run/kernel", *container.FOLDERS, "/dev/null"],
            }
        stdlib = sysconfig.get_path("stdlib")
        parts = [os.path.join(stdlib, n) for n in os.listdir(stdlib) if n not in PACKAGES]
        devices = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"]
        libraries = (path for folder in _libraries() for path in _without_packages(folder))
        read = [*libraries, *_libpython(), *parts, _python(), str(self.image), *devices]
        return {"read": read, "list": [stdlib], "write": [str(self.folder), "/dev/null"]}


SUPERVISED = {"container": container.container_command, "gvisor": container.gvisor_command}


def _remove(top: Path) -> None:
    """Remove a folder of any permissions and depth. Moving inner folders up avoids recursion."""
    moved, number = secrets.token_hex(8), itertools.count()
    with suppress(OSError):
        os.chmod(top, 0o700)
        while entries := sorted(os.listdir(top)):
            for path in (top / name for name in entries):
                if path.is_symlink() or not path.is_dir():
                    path.unlink()
                    continue
                path.chmod(0o700)
                for inner in path.iterdir():
                    if inner.is_dir() and not inner.is_symlink():
                        inner.chmod(0o700)
                    inner.rename(top / f"{moved}-{next(number)}")
                path.rmdir()
        top.rmdir()


def _unused_uid() -> int | None:
    """A random unused uid if the grader runs as root, because the kernel does not limit root's threads."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return None
    first, _, count = map(int, Path("/proc/self/uid_map").read_text(encoding="utf-8").split()[-3:])
    if count == 1:  # in a user namespace with a single user, we are not really root
        return None
    end = min(first + count, 2**31)
    return end - 1 - secrets.randbelow(min(2**24, count // 2))


def _python_tree() -> tuple[list[tuple[str, str]], list[str]]:
    """The paths to mount so that Python runs in the sandbox, and the folders in them to hide."""
    stdlib = sysconfig.get_path("stdlib")
    there = f"/python/lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    shown = [(path, path) for path in _libraries()]
    shown += [(stdlib, there), (_python(), "/python/bin/python3")]
    shown += [(path, f"/python/lib/{os.path.basename(path)}") for path in _libpython()]
    hidden = [f"{there}/{n}" for n in PACKAGES if os.path.isdir(os.path.join(stdlib, n))]
    return shown, hidden + [path for folder in _libraries() for path in _packages_in(folder)]


def _packages_in(libraries: str) -> list[str]:
    """The folders of Python packages, which may be other engines, that some systems keep beside libraries."""
    return glob(f"{libraries}/python3*/*-packages")


def _without_packages(libraries: str) -> list[str]:
    """The folder, or if there are packages in it, everything else in it."""
    if not _packages_in(libraries):
        return [libraries]
    paths = glob(f"{libraries}/*")
    return [path for path in paths if not os.path.basename(path).startswith("python3")]


# With several threads, the order of summation may change the last bit.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
REPEATABLE = {**ONE_THREAD, "PYTHONHASHSEED": "0"}


def _environment(work: str) -> dict[str, str]:
    return {
        "HOME": work,
        "TMPDIR": work if work != "/work" else "/tmp",
        "LANG": "C.UTF-8",
        "PATH": "",
        "TZ": "UTC",
        "LD_LIBRARY_PATH": "/python/lib" if work == "/work" else LIBDIR,
        **REPEATABLE,
        "MALLOC_ARENA_MAX": "2",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "MPLBACKEND": "agg",
    }


def _python() -> str:
    """The path of the interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _libpython() -> list[str]:
    """The path of libpython, if the interpreter was built with a shared library."""
    name = sysconfig.get_config_var("INSTSONAME")
    path = os.path.join(LIBDIR, name or "")
    return [path] if name and ".so" in name and os.path.exists(path) else []


def _libraries() -> list[str]:
    """The folders of shared libraries; multiarch folders if the system has them, as they contain nothing else."""
    several = sysconfig.get_config_var("MULTIARCH") or ""
    candidates = ["/lib64", "/usr/lib64", f"/lib/{several}", f"/usr/lib/{several}"]
    if not several or not os.path.isdir(f"/usr/lib/{several}"):
        candidates = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]
    return [p for p in [*candidates, "/etc/ld.so.cache"] if os.path.exists(p)]

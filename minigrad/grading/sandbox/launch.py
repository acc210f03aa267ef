"""Start a Python in one of the tiers of isolation.

    bwrap      an own file system, process table, network and user; Landlock is not needed there
    landlock   the machine's, but no file outside of a few can be opened; with seccomp
    container  like bwrap, made by podman or docker (container.py); with seccomp
    none       a plain process of this user: only when it is asked for by name

In all tiers the process has limits, gets a clean environment and an empty folder of its own, and
dies with its parent. In bwrap and in a container even the names of paths are neutral, since a
process may read the command line of its own sandbox.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from minigrad.grading.sandbox import container

Tier = Literal["bwrap", "landlock", "container", "none"]
TIERS: tuple[Tier, ...] = ("bwrap", "landlock", "container", "none")

MEGABYTE = 1024 * 1024
# In bwrap an ordinary user's threads are counted in the sandbox alone. Elsewhere all of the user's would
# count, and root's never do.
THREADS = 256


@dataclass(frozen=True)
class Limits:
    """What a submission may use up.

    cell, question, submission   seconds of wall clock, each an absolute deadline
    memory      megabytes of address space of one kernel
    disk        megabytes that it may write
    messages, message_bytes, bytes    what it may send to the outside for one cell
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
        """The part that the process is given itself, by setrlimit."""
        return {
            "AS": self.memory * MEGABYTE,
            "FSIZE": self.disk * MEGABYTE,
            "CORE": 0,
            "NOFILE": 256,
            "CPU": int(self.question + self.start) + 5,
        }

    def as_dict(self) -> dict[str, float]:
        """The fields by name, as they stand in job and answers documents."""
        return asdict(self)


class Process:
    """A sandboxed Python and its private folder; a context manager that leaves nothing behind.

    folder       the private folder, as seen from here; the child may write in it
    inside       the same folder as the child sees it
    """

    def __init__(self, tier: Tier, image: Path, limits: Limits) -> None:
        self.tier, self.image, self.limits = tier, image, limits
        self.folder = Path(tempfile.mkdtemp(prefix="mg-"))  # short: a socket's path has 107 bytes
        self.neutral = tier in ("bwrap", "container")
        self.inside = "/run/kernel" if self.neutral else str(self.folder)
        self.child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()
        for path in (self.folder, *self.folder.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(
        self,
        settings: dict[str, Any],
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        """Run boot.py there with these settings, and with those that follow from the tier."""
        within = "/image" if self.neutral else str(self.image)
        work = "/work" if self.neutral else str(self.folder / "work")
        settings = {
            **settings,
            "image": f"{within}/site",
            "private": self.inside,
            "python": sys.version_info[:2],
            "limits": self.limits.of_process()
            | ({"NPROC": THREADS} if self.tier == "bwrap" else {}),
            "landlock": None if self.tier == "none" else self._paths(),
            "needs_landlock": self.tier == "landlock",
            "seccomp": self.tier != "none",
        }
        # -S, -s, -P: nothing is imported from the machine's site-packages or the folder
        options = ["-S", "-s", "-P", "-B", f"{within}/boot.py", json.dumps(settings)]
        environment = _environment(work)
        if self.tier == "container":
            self._start_container(options, environment, stdout, stderr)
            return
        argv = ["/python/bin/python3" if self.tier == "bwrap" else _python(), *options]
        passed: tuple[int, ...] = ()
        if self.tier == "bwrap":
            arguments = _memory_file("\0".join(self._bwrap(environment)).encode())
            argv = [_bubblewrap(), "--args", str(arguments), "--", *argv]
            passed = (arguments,)
        else:
            (self.folder / "work").mkdir()
        self.child = subprocess.Popen(
            argv,
            env=environment,
            cwd="/" if self.tier == "bwrap" else work,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=passed,
            start_new_session=True,
        )
        for descriptor in passed:
            os.close(descriptor)

    def _start_container(
        self,
        options: list[str],
        environment: dict[str, str],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
    ) -> None:
        engine = container.engine()
        container.hand_over(self.folder, engine)
        shown = [(str(self.image), "/image")]
        if not engine.own_image:
            python, hidden = _python_tree()
            shown += python + [(str(self.image / "empty"), folder) for folder in hidden]
        else:
            environment = {**environment, "PATH": "/usr/local/bin:/usr/bin:/bin"}
            del environment["LD_LIBRARY_PATH"]
        name = f"minigrad-{secrets.token_hex(8)}"
        # The kernel's own limit is to be met first, and end in a MemoryError, the same each time;
        # the container's is for what lies in its folders beside that.
        memory = self.limits.memory + 4 * self.limits.disk + 128
        megabytes = (memory * MEGABYTE, self.limits.disk * MEGABYTE)
        run = container.run_arguments(engine, name, shown, self.folder, environment, *megabytes)
        beside = os.path.join(os.path.dirname(__file__), "supervise.py")
        self.child = subprocess.Popen(
            [sys.executable, "-I", "-S", beside, engine.program, name, *run, *options],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )

    def alive(self) -> bool:
        """Was it started, and has it not ended yet?"""
        return self.child is not None and self.child.poll() is None

    def kill(self) -> None:
        """End it and all its children, at once. The table of processes of bwrap ends with it."""
        if self.child is None:
            return
        if self.child.stdin is not None:  # a container, which is ended by its supervisor
            self.child.stdin.close()
            try:
                self.child.wait(container.PATIENCE)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.kill()
        self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()

    def too_much_written(self) -> bool:
        """More on the disk than the limit allows? What is private is on no disk in bwrap."""
        size = count = 0
        for folder, _, files in os.walk(self.folder):
            for name in files:
                count += 1
                try:
                    size += os.lstat(os.path.join(folder, name)).st_size
                except OSError:
                    continue
            if count > 5000 or size > self.limits.disk * MEGABYTE:
                return True
        return False

    def _bwrap(self, environment: dict[str, str]) -> list[str]:
        # --as-pid-1: boot.py is the first process, which gives up as much as its child; bwrap would not
        arguments = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
        arguments += ["--as-pid-1"]
        arguments += ["--new-session", "--cap-drop", "ALL", "--clearenv"]
        arguments += ["--uid", "65534", "--gid", "65534", "--hostname", "grading"]
        for name, value in environment.items():
            arguments += ["--setenv", name, value]
        shown, hidden = _python_tree()
        for path, there in shown:
            arguments += ["--ro-bind", path, there]
        for folder in hidden:
            arguments += ["--tmpfs", folder, "--remount-ro", folder]
        arguments += ["--ro-bind", str(self.image), "/image"]
        # started by root, the uid inside is root's to the kernel, whose settings are then root's to change
        arguments += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        size = str(self.limits.disk * MEGABYTE)
        for folder in ("/dev/shm", "/tmp", "/work"):
            arguments += ["--size", size, "--tmpfs", folder]
        arguments += ["--bind", str(self.folder), "/run/kernel", "--chdir", "/work"]
        return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]

    def _paths(self) -> dict[str, list[str]]:
        """What a kernel under Landlock may open. Where all that is there may be seen: write nowhere else."""
        if self.neutral:
            write = ["/run/kernel", "/work", "/tmp", "/dev/shm", "/dev/null"]
            return {"read": ["/"], "list": [], "write": write}
        stdlib = sysconfig.get_path("stdlib")
        parts = [
            os.path.join(stdlib, name)
            for name in os.listdir(stdlib)
            if name not in ("site-packages", "dist-packages")
        ]
        devices = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"]
        read = [*_libraries(), *_libpython(), *parts, _python(), str(self.image), *devices]
        return {"read": read, "list": [stdlib], "write": [str(self.folder), "/dev/null"]}


def _python_tree() -> tuple[list[tuple[str, str]], list[str]]:
    """What to show, under which neutral path, so that Python runs there; and what of it to hide."""
    stdlib = sysconfig.get_path("stdlib")
    there = f"/python/lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    shown = [(path, path) for path in _libraries()]
    shown += [(stdlib, there), (_python(), "/python/bin/python3")]
    shown += [(path, f"/python/lib/{os.path.basename(path)}") for path in _libpython()]
    names = ("site-packages", "dist-packages")
    return shown, [f"{there}/{n}" for n in names if os.path.isdir(os.path.join(stdlib, n))]


def _environment(work: str) -> dict[str, str]:
    return {
        "HOME": work,
        "TMPDIR": work if work != "/work" else "/tmp",
        "LANG": "C.UTF-8",
        "PATH": "",
        "TZ": "UTC",
        "LD_LIBRARY_PATH": "/python/lib" if work == "/work" else sysconfig.get_config_var("LIBDIR"),
        # the same answer on each run, and one thread for sums, whose order matters in the last bit
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "MPLBACKEND": "agg",
    }


def _bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise FileNotFoundError("bwrap is not installed")
    return found


def _python() -> str:
    """The interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _libpython() -> list[str]:
    """The shared library of an interpreter that is built with one, where it is not a system's."""
    name, folder = sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LIBDIR")
    path = os.path.join(folder or "", name or "")
    return [path] if name and ".so" in name and os.path.exists(path) else []


def _libraries() -> list[str]:
    """The folders of shared libraries, and nothing beside them, where a system separates them."""
    several = sysconfig.get_config_var("MULTIARCH") or ""
    candidates = ["/lib64", "/usr/lib64", f"/lib/{several}", f"/usr/lib/{several}"]
    if not several or not os.path.isdir(f"/usr/lib/{several}"):
        candidates = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]
    return [p for p in [*candidates, "/etc/ld.so.cache"] if os.path.exists(p)]


def _memory_file(content: bytes) -> int:
    """A file without a name, to hand over arguments that nobody else can read."""
    descriptor = os.memfd_create(f"arguments-{secrets.token_hex(4)}")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor

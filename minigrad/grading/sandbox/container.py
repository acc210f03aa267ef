"""The tiers that another program starts: a container by podman or docker, and gVisor's sandbox.

    MINIGRAD_CONTAINER_ENGINE   podman, docker, or a path; default: the first that is installed
    MINIGRAD_CONTAINER_IMAGE    an image with the same Python version as here; default: an empty one

No image has to be downloaded. By default we create an empty one, and mount this machine's Python
and shared libraries read-only, as in bwrap. If you name an image, only the kernel's packages are
mounted; its `python3` must have the same version as ours.

There are two differences from the other tiers. A container is not our child process, so a
supervisor stops it (supervise.py). And since the student's code must write to a folder of ours, its
user depends on the engine: a user that nobody else has if we are root, otherwise our own user
without capabilities.

gVisor's `runsc` is a user-space kernel between a student's code and the machine's kernel. It handles the
system calls of the student's code, and is itself allowed few. It is configured by an OCI bundle: a folder
with config.json and an empty root file system, in which this machine's Python is mounted read-only, as in
bwrap. The Jupyter kernel creates its sockets in a folder of ours, the only writable one of this machine.
Sockets of other processes cannot be reached.

    container_command, gvisor_command    what supervise.py has to start, for a Process of launch.py

Sources: podman-run(1), docker run's reference; gvisor.dev/docs; the runtime specification of the OCI, config.md.
"""

import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minigrad.grading.sandbox.launch import Process

EMPTY = "localhost/minigrad-empty"
PROCESSES = 64  # including threads
PATIENCE = 40.0  # seconds to wait for the container to stop, since the engine may be busy
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
OWN_PYTHON = "/python/bin/python3"  # this machine's Python, where it is mounted
FOLDERS = ("/dev/shm", "/tmp", "/work")  # writable folders in tiers with their own file system


class NoContainer(OSError):
    """There is no engine, or it cannot create the empty image."""


@dataclass(frozen=True)
class Engine:
    """A container engine.

    program    the path of podman or docker
    image      the image for containers
    """

    program: str
    image: str

    @property
    def podman(self) -> bool:
        """Is it podman rather than docker, judging by its name? They take different options."""
        return "podman" in os.path.basename(self.program)

    @cached_property
    def user(self) -> str:
        """The "uid:gid" of our user inside a container, if we are not root."""
        options = None
        if not self.podman:
            options = _output_of(self.program, "info", "--format", "{{.SecurityOptions}}")
        # root in a rootless container is our user outside
        return "0:0" if "rootless" in (options or "") else f"{os.getuid()}:{os.getgid()}"

    @property
    def own_image(self) -> bool:
        """Did the user name an image, which brings its own Python?"""
        return self.image != EMPTY

    def __str__(self) -> str:
        return f"{os.path.basename(self.program)}, {self.image}"


@cache
def engine() -> Engine:
    """Find this machine's engine, and make sure that the image exists.

    Raises NoContainer, saying what is missing.
    """
    wanted = os.environ.get("MINIGRAD_CONTAINER_ENGINE")
    names = [wanted] if wanted else ["podman", "docker"]
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        who = f"{wanted} is not" if wanted else "neither podman nor docker is"
        raise NoContainer(f"{who} installed")
    image = os.environ.get("MINIGRAD_CONTAINER_IMAGE") or EMPTY
    if image == EMPTY and _output_of(program, "image", "inspect", EMPTY) is None:
        nothing = bytes(10240)  # a tar archive without a file
        if _output_of(program, "import", "-", EMPTY, given=nothing) is None:
            raise NoContainer(f"{program} could not make an image: does its service run?")
    return Engine(program, image)


def container_command(
    process: "Process", options: list[str], environment: Mapping[str, str]
) -> list[str]:
    """The engine, the container's name, and the arguments of `run`, for Python with these options."""
    on, name = engine(), f"minigrad-{secrets.token_hex(8)}"
    user = on.user if process.user is None else f"{process.user}:{process.user}"
    shown, variables = process.mounts(), {**environment}
    if on.own_image:
        shown = [(str(process.image), "/image")]
        variables["PATH"] = "/usr/local/bin:/usr/bin:/bin"
        del variables["LD_LIBRARY_PATH"]
    # The process limit should be reached first, since it reproducibly gives a MemoryError. The
    # container's limit adds room for the files in its folders, which are in memory.
    memory = str((process.limits.memory + 128) * 2**20 + 4 * process.disk)
    arguments = ["run", "--rm", "--name", name, "--pull", "never", "--log-driver", "none"]
    arguments += ["--network", "none", "--ipc", "private", "--hostname", "grading"]
    arguments += ["--read-only", "--cap-drop", "ALL", "--user", user]
    # label=disable: otherwise SELinux denies access to the machine's libraries unless they are relabeled
    arguments += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
    arguments += ["--memory", memory, "--memory-swap", memory]
    arguments += ["--pids-limit", str(PROCESSES), "--shm-size", str(process.disk)]
    arguments += ["--ulimit", "nofile=256:256", "--ulimit", "core=0:0"]
    arguments += ["--ulimit", f"nproc={_nproc_limit()}"]
    if on.podman:
        # otherwise /run and /var/tmp are writable without a limit, and /etc/hosts is the machine's
        arguments += ["--read-only-tmpfs=false", "--no-hosts"]
        if os.geteuid():
            arguments += ["--userns", "keep-id"]
    for path, there in shown:
        arguments += ["--mount", f"type=bind,src={path},dst={there},readonly"]
    arguments += ["--mount", f"type=bind,src={process.folder},dst=/run/kernel"]
    for folder in ("/tmp", "/work"):
        arguments += ["--tmpfs", f"{folder}:rw,nosuid,nodev,size={process.disk},mode=1777"]
    proxies = {n: "" for p in PROXIES for n in (p, p.upper())}  # engines pass on ours
    for variable, value in {**proxies, **variables}.items():
        arguments += ["--env", f"{variable}={value}"]
    python = "python3" if on.own_image else OWN_PYTHON
    arguments += ["--workdir", "/work", "--entrypoint", python, on.image]
    return [on.program, name, *arguments, *options]


def own_threads() -> bool:
    """Are threads in a container counted separately from the user's other threads?"""
    return os.geteuid() == 0 or engine().podman


def _nproc_limit() -> str:
    """A generous NPROC limit, since it counts all our user's processes; --pids-limit does the limiting."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    return f"{most}:{most}"


def _output_of(program: str, *arguments: str, given: bytes = b"") -> str | None:
    """Run the engine, and return its output; None if it fails."""
    try:
        done = subprocess.run([program, *arguments], input=given, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def gvisor_command(
    process: "Process", options: list[str], environment: Mapping[str, str]
) -> list[str]:
    """runsc, no name, and its arguments: it exits with the kernel, and killing it kills the kernel.

    Makes the process's OCI bundle. Raises FileNotFoundError if runsc is not installed.
    """
    program = installed("runsc")
    process.bundle = bundle = Path(tempfile.mkdtemp(prefix="mg-"))
    (bundle / "root").mkdir()
    mounts = [_mount("/proc", "proc", "proc")]
    mounts += [_mount(there, "bind", path, "bind", "ro") for path, there in process.mounts()]
    mounts += [_mount("/run/kernel", "bind", str(process.folder), "bind", "rw")]
    limited = (f"size={process.disk}", "mode=1777", "nosuid", "nodev")
    mounts += [_mount(folder, "tmpfs", "tmpfs", *limited) for folder in FOLDERS]
    kinds = ("pid", "network", "ipc", "uts", "mount")
    given = ("bounding", "effective", "inheritable", "permitted", "ambient")
    user = process.user or 0
    config = {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": user, "gid": user},
            "args": [OWN_PYTHON, *options],
            "env": [f"{name}={value}" for name, value in environment.items()],
            "cwd": "/work",
            "noNewPrivileges": True,
            "capabilities": {kind: [] for kind in given},  # the student's code has none
        },
        "root": {"path": str(bundle / "root"), "readonly": True},
        "hostname": "grading",
        "mounts": mounts,
        "linux": {"namespaces": [{"type": kind} for kind in kinds]},
    }
    (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")
    arguments = ["--root", str(bundle / "state"), "--network", "none", "--host-uds", "create"]
    arguments += ["--ignore-cgroups", *(["--rootless"] if os.geteuid() else [])]
    name = f"minigrad-{secrets.token_hex(8)}"
    return [program, "", *arguments, "run", "--bundle", str(bundle), name]


def _mount(there: str, kind: str, source: str, *options: str) -> dict[str, object]:
    return {"destination": there, "type": kind, "source": source, "options": list(options)}


def installed(program: str) -> str:
    """The path of a program. Raises FileNotFoundError if it is not installed."""
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"{program} is not installed")
    return found

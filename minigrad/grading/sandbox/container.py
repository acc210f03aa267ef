"""The tier of a container, by podman or docker, for machines where bwrap and Landlock do not hold.

    MINIGRAD_CONTAINER_ENGINE   podman, docker, or a path; left out, the first of them that is there
    MINIGRAD_CONTAINER_IMAGE    an image with the same Python as here; left out, an empty one

No image has to be fetched: an empty one is made on the spot, and this machine's Python and shared
libraries are shown in it, read-only, as bwrap does. With an image of one's own nothing of this
machine is shown but the packages of the kernel; its `python3` must be of the same version.

Two things differ from a sandbox that is our child. The container is ended by a process that
stands beside it (supervise.py). And who the student's code is depends on the engine, because it must
write into a folder of ours: a user that nobody else is, if we are root; ourselves without any
capability, if not.

Sources: podman-run(1), docker run's reference.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

EMPTY = "localhost/minigrad-empty"
PROCESSES = 64  # threads are counted too
PATIENCE = 40.0  # seconds for its end: an engine may be busy
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


class NoContainer(OSError):
    """No engine, or one that cannot make the empty image."""


@dataclass(frozen=True)
class Engine:
    """program    the path of podman or docker
    image      what containers are made from
    user       who we are in a container, if we are not root: "uid:gid"
    """

    program: str
    image: str
    user: str

    @property
    def podman(self) -> bool:
        """Podman, and not docker? They differ in their options. Told by the program's name."""
        return "podman" in os.path.basename(self.program)

    @property
    def own_image(self) -> bool:
        """An image that somebody named, with a Python of its own?"""
        return self.image != EMPTY

    @property
    def python(self) -> str:
        """The Python in the container: the image's own, or this machine's, mounted at /python."""
        return "python3" if self.own_image else "/python/bin/python3"

    def __str__(self) -> str:
        return f"{os.path.basename(self.program)}, {self.image}"


@cache
def engine() -> Engine:
    """The engine of this machine, with an image that is there.

    Raises NoContainer, saying what is missing.
    """
    wanted = os.environ.get("MINIGRAD_CONTAINER_ENGINE")
    program = next(
        (p for n in ([wanted] if wanted else ["podman", "docker"]) if (p := shutil.which(n))), None
    )
    if program is None:
        who = f"{wanted} is not" if wanted else "neither podman nor docker is"
        raise NoContainer(f"{who} installed")
    image = os.environ.get("MINIGRAD_CONTAINER_IMAGE") or EMPTY
    if image == EMPTY and _asked(program, "image", "inspect", EMPTY) is None:
        nothing = bytes(10240)  # a tar archive without a file
        if _asked(program, "import", "-", EMPTY, given=nothing) is None:
            raise NoContainer(
                f"{program} is there, but could not make an image: does its service run?"
            )
    return Engine(program, image, _user(program))


def run_arguments(
    engine: Engine,
    name: str,
    shown: Sequence[tuple[str, str]],
    private: Path,
    environment: Mapping[str, str],
    user: str,
    memory: int,
    disk: int,
) -> list[str]:
    """`run` and its options, up to the command.

    shown     (path here, path there), read-only
    private   our folder, which is /run/kernel there
    user      who the student's code is, in the container: "uid:gid"
    memory    bytes; disk too
    """
    arguments = ["run", "--rm", "--name", name, "--pull", "never", "--log-driver", "none"]
    arguments += ["--network", "none", "--ipc", "private", "--hostname", "grading"]
    arguments += ["--read-only", "--cap-drop", "ALL", "--user", user]
    # label: SELinux would refuse to show the machine's libraries unless they were labeled anew
    arguments += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
    arguments += ["--memory", str(memory), "--memory-swap", str(memory)]
    arguments += ["--pids-limit", str(PROCESSES), "--shm-size", str(disk)]
    arguments += ["--ulimit", "nofile=256:256", "--ulimit", "core=0:0"]
    arguments += ["--ulimit", f"nproc={_processes()}"]
    if engine.podman:
        # else /run and /var/tmp could be written without a limit, and /etc/hosts is this machine's
        arguments += ["--read-only-tmpfs=false", "--no-hosts"]
        if os.geteuid():
            arguments += ["--userns", "keep-id"]
    for path, there in shown:
        arguments += ["--mount", f"type=bind,src={path},dst={there},readonly"]
    arguments += ["--mount", f"type=bind,src={private},dst=/run/kernel"]
    for folder in ("/tmp", "/work"):
        arguments += ["--tmpfs", f"{folder}:rw,nosuid,nodev,size={disk},mode=1777"]
    proxies = {n: "" for p in PROXIES for n in (p, p.upper())}  # engines hand on the machine's
    for variable, value in {**proxies, **environment}.items():
        arguments += ["--env", f"{variable}={value}"]
    return [*arguments, "--workdir", "/work", "--entrypoint", engine.python, engine.image]


def own_threads() -> bool:
    """Are threads in a container counted apart from all others of the user's?"""
    return os.geteuid() == 0 or engine().podman


def _user(program: str) -> str:
    if "podman" not in os.path.basename(program):
        said = _asked(program, "info", "--format", "{{.SecurityOptions}}") or ""
        if "rootless" in said:
            return "0:0"  # there, root is who we are here
    return f"{os.getuid()}:{os.getgid()}"


def _processes() -> str:
    """Limits of processes are per user, so ours must fit too; --pids-limit is the real one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    return "4096:4096" if hard == resource.RLIM_INFINITY else f"{min(4096, hard)}:{min(4096, hard)}"


def _asked(program: str, *arguments: str, given: bytes = b"") -> str | None:
    """What the engine says; None if it fails."""
    try:
        done = subprocess.run([program, *arguments], input=given, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None

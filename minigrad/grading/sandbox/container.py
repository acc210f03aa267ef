"""The container tier, with podman or docker, for machines where bwrap and Landlock do not work.

    MINIGRAD_CONTAINER_ENGINE   podman, docker, or a path; default: the first that is installed
    MINIGRAD_CONTAINER_IMAGE    an image with the same Python version as here; default: an empty one

No image has to be downloaded. By default we create an empty one, and mount this machine's Python
and shared libraries read-only, as in bwrap. If you name an image, only the kernel's packages are
mounted; its `python3` must have the same version as ours.

There are two differences from the other tiers. A container is not our child process, so a
supervisor stops it (supervise.py). And since the student's code must write to a folder of ours, its
user depends on the engine: a user that nobody else has if we are root, otherwise our own user
without capabilities.

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
PROCESSES = 64  # including threads
PATIENCE = 40.0  # seconds to wait for the container to stop, since the engine may be busy
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


class NoContainer(OSError):
    """There is no engine, or it cannot create the empty image."""


@dataclass(frozen=True)
class Engine:
    """A container engine.

    program    the path of podman or docker
    image      the image for containers
    user       "uid:gid" of our user inside a container, if we are not root
    """

    program: str
    image: str
    user: str

    @property
    def podman(self) -> bool:
        """Is it podman rather than docker, judging by its name? They take different options."""
        return "podman" in os.path.basename(self.program)

    @property
    def own_image(self) -> bool:
        """Did the user name an image, which brings its own Python?"""
        return self.image != EMPTY

    @property
    def python(self) -> str:
        """The Python in the container: the image's own, or this machine's, mounted at /python."""
        return "python3" if self.own_image else "/python/bin/python3"

    def __str__(self) -> str:
        return f"{os.path.basename(self.program)}, {self.image}"


@cache
def engine() -> Engine:
    """Find this machine's engine, and make sure that the image exists.

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
    if image == EMPTY and _output_of(program, "image", "inspect", EMPTY) is None:
        nothing = bytes(10240)  # a tar archive without a file
        if _output_of(program, "import", "-", EMPTY, given=nothing) is None:
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
    """The arguments of `run` up to the command.

    shown     (path here, path in the container), mounted read-only
    private   our folder, mounted at /run/kernel
    user      "uid:gid" of the student's code in the container
    memory    limit in bytes, as is disk
    """
    arguments = ["run", "--rm", "--name", name, "--pull", "never", "--log-driver", "none"]
    arguments += ["--network", "none", "--ipc", "private", "--hostname", "grading"]
    arguments += ["--read-only", "--cap-drop", "ALL", "--user", user]
    # label=disable: otherwise SELinux denies access to the machine's libraries unless they are relabeled
    arguments += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
    arguments += ["--memory", str(memory), "--memory-swap", str(memory)]
    arguments += ["--pids-limit", str(PROCESSES), "--shm-size", str(disk)]
    arguments += ["--ulimit", "nofile=256:256", "--ulimit", "core=0:0"]
    arguments += ["--ulimit", f"nproc={_nproc_limit()}"]
    if engine.podman:
        # otherwise /run and /var/tmp are writable without a limit, and /etc/hosts is the machine's
        arguments += ["--read-only-tmpfs=false", "--no-hosts"]
        if os.geteuid():
            arguments += ["--userns", "keep-id"]
    for path, there in shown:
        arguments += ["--mount", f"type=bind,src={path},dst={there},readonly"]
    arguments += ["--mount", f"type=bind,src={private},dst=/run/kernel"]
    for folder in ("/tmp", "/work"):
        arguments += ["--tmpfs", f"{folder}:rw,nosuid,nodev,size={disk},mode=1777"]
    proxies = {n: "" for p in PROXIES for n in (p, p.upper())}  # engines pass on ours
    for variable, value in {**proxies, **environment}.items():
        arguments += ["--env", f"{variable}={value}"]
    return [*arguments, "--workdir", "/work", "--entrypoint", engine.python, engine.image]


def own_threads() -> bool:
    """Are threads in a container counted separately from the user's other threads?"""
    return os.geteuid() == 0 or engine().podman


def _user(program: str) -> str:
    if "podman" not in os.path.basename(program):
        options = _output_of(program, "info", "--format", "{{.SecurityOptions}}") or ""
        if "rootless" in options:
            return "0:0"  # root in a rootless container is our user outside
    return f"{os.getuid()}:{os.getgid()}"


def _nproc_limit() -> str:
    """A generous NPROC limit, since it counts all our user's processes; --pids-limit does the limiting."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    return "4096:4096" if hard == resource.RLIM_INFINITY else f"{min(4096, hard)}:{min(4096, hard)}"


def _output_of(program: str, *arguments: str, given: bytes = b"") -> str | None:
    """Run the engine, and return its output; None if it fails."""
    try:
        done = subprocess.run([program, *arguments], input=given, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None

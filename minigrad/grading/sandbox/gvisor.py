"""The tier of gVisor: an own kernel, in a process without privileges, between a student's code and ours.

What the code asks of a kernel is answered by `runsc`, a program that is written for that and can
itself ask little of this machine. It is told in a bundle: a folder with a configuration of the Open
Container Initiative, and an empty file system in which this machine's Python is shown, as bwrap does.

The kernel's sockets are made in a folder of ours, which is all of this machine that can be written;
those that others listen on cannot be reached.

Sources: gvisor.dev/docs; the runtime specification of the OCI, config.md.
"""

import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path


def runsc() -> str:
    """The program. Raises FileNotFoundError if it is not installed."""
    found = shutil.which("runsc")
    if found is None:
        raise FileNotFoundError("runsc is not installed")
    return found


def write_bundle(
    folder: Path,
    command: Sequence[str],
    environment: Mapping[str, str],
    shown: Sequence[tuple[str, str]],
    private: Path,
    sizes: Mapping[str, int],
    user: int,
) -> None:
    """Write a bundle into an empty folder.

    shown     (path here, path there), read-only
    private   our folder, which is /run/kernel there
    sizes     folders in memory, and how many bytes each may take
    user      who the student's code is, and its group; without any capability
    """
    (folder / "root").mkdir()
    mounts = [_mount("/proc", "proc", "proc")]
    mounts += [_mount(there, "bind", path, "bind", "ro") for path, there in shown]
    mounts += [_mount("/run/kernel", "bind", str(private), "bind", "rw")]
    for place, size in sizes.items():
        options = (f"size={size}", "mode=1777", "nosuid", "nodev")
        mounts.append(_mount(place, "tmpfs", "tmpfs", *options))
    kinds = ("pid", "network", "ipc", "uts", "mount")
    nothing: list[str] = []
    given = ("bounding", "effective", "inheritable", "permitted", "ambient")
    config = {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": user, "gid": user},
            "args": list(command),
            "env": [f"{name}={value}" for name, value in environment.items()],
            "cwd": "/work",
            "noNewPrivileges": True,
            "capabilities": dict.fromkeys(given, nothing),
        },
        "root": {"path": str(folder / "root"), "readonly": True},
        "hostname": "grading",
        "mounts": mounts,
        "linux": {"namespaces": [{"type": kind} for kind in kinds]},
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def _mount(there: str, kind: str, source: str, *options: str) -> dict[str, object]:
    return {"destination": there, "type": kind, "source": source, "options": list(options)}


def runsc_arguments(bundle: Path) -> list[str]:
    """What `runsc` is called with: it runs until the kernel ends, and ends it if it is ended."""
    arguments = ["--root", str(bundle / "state"), "--network", "none", "--host-uds", "create"]
    arguments += ["--ignore-cgroups", *(["--rootless"] if os.geteuid() else [])]
    return [*arguments, "run", "--bundle", str(bundle), f"minigrad-{secrets.token_hex(8)}"]

"""The gVisor tier: a user-space kernel between a student's code and the machine's kernel.

`runsc` handles the system calls of the student's code, and is itself allowed few system calls. It is
configured by an OCI bundle: a folder with config.json and an empty root file system, in which this
machine's Python is mounted read-only, as in bwrap.

The Jupyter kernel creates its sockets in a folder of ours, the only writable one of this machine.
Sockets of other processes cannot be reached.

Sources: gvisor.dev/docs; the runtime specification of the OCI, config.md.
"""

import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path


def runsc() -> str:
    """The path of runsc. Raises FileNotFoundError if it is not installed."""
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
    """Write a bundle to an empty folder.

    shown     (path here, path in the sandbox), mounted read-only
    private   our folder, mounted at /run/kernel
    sizes     folders in memory -> their limits in bytes
    user      uid and gid of the student's code, which has no capabilities
    """
    (folder / "root").mkdir()
    mounts = [_mount("/proc", "proc", "proc")]
    mounts += [_mount(there, "bind", path, "bind", "ro") for path, there in shown]
    mounts += [_mount("/run/kernel", "bind", str(private), "bind", "rw")]
    for target, size in sizes.items():
        options = (f"size={size}", "mode=1777", "nosuid", "nodev")
        mounts.append(_mount(target, "tmpfs", "tmpfs", *options))
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
    """The arguments of `runsc`, which exits with the kernel; killing it kills the kernel."""
    arguments = ["--root", str(bundle / "state"), "--network", "none", "--host-uds", "create"]
    arguments += ["--ignore-cgroups", *(["--rootless"] if os.geteuid() else [])]
    return [*arguments, "run", "--bundle", str(bundle), f"minigrad-{secrets.token_hex(8)}"]

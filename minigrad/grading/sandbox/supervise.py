"""Supervise a container, and stop it when the grader is done.

    python -I -S supervise.py ENGINE NAME run ...     NAME is "" if killing the engine is enough

A container is a child of its engine, not of the process that requested it, so it survives when
`podman run` is killed. Therefore this process starts the container, and removes it when its own
standard input is closed, which also happens if the grader is killed. It runs outside the
container, out of reach of students' code. It uses only the standard library.
"""

import select
import subprocess
import sys
import time
from contextlib import suppress

PATIENCE = 30  # seconds to wait for an engine that does not respond


def supervise(engine: str, name: str, arguments: list[str]) -> int:
    """Run the engine until it exits or our standard input is closed; return its exit status.

    In the latter case, kill the container, retrying for PATIENCE seconds. gVisor's sandbox has no
    name, and ends with its engine.
    """
    client = subprocess.Popen([engine, *arguments], stdin=subprocess.DEVNULL)
    while client.poll() is None:
        if select.select([sys.stdin], [], [], 0.05)[0] and not sys.stdin.buffer.read(1):
            break
    ends = time.monotonic() + PATIENCE
    while name and client.poll() is None and time.monotonic() < ends:
        # retry, since the container may not exist yet
        _tell(engine, "kill", name)
        try:
            client.wait(0.5)
        except subprocess.TimeoutExpired:
            continue
    client.kill()
    status = client.wait()
    if name and status:
        _tell(engine, "rm", "--force", name)  # normally --rm has removed it
    return status


def _tell(engine: str, *arguments: str) -> None:
    # no pipes: run() would wait for them beyond the timeout
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([engine, *arguments], timeout=PATIENCE, **quiet)  # type: ignore[call-overload]


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1], sys.argv[2], sys.argv[3:]))

"""Stand beside a container, and end it.

    python -I -S supervise.py ENGINE NAME run ...     NAME is empty if the engine itself is to be killed

A container is a child of its engine, not of whoever asked for it: killing `podman run` leaves it
running. So this process starts it, and removes it when its own standard input ends, which is
what happens when the grader closes the pipe, and also when the grader is killed. It runs outside
of the container, where no student's code can reach it. Standard library only.
"""

import select
import subprocess
import sys
import time
from contextlib import suppress

PATIENCE = 30  # seconds until an engine that does not answer is given up


def supervise(engine: str, name: str, arguments: list[str]) -> int:
    """Run the engine until it ends or our standard input does; returns its exit status.

    If the input ends first, the container is killed, again and again for PATIENCE seconds.
    One without a name, of gVisor, ends with its engine.
    """
    client = subprocess.Popen([engine, *arguments], stdin=subprocess.DEVNULL)
    while client.poll() is None:
        if select.select([sys.stdin], [], [], 0.05)[0] and not sys.stdin.buffer.read(1):
            break
    ends = time.monotonic() + PATIENCE
    while name and client.poll() is None and time.monotonic() < ends:
        # not there yet, if it was just being made: ask again
        _tell(engine, "kill", name)
        try:
            client.wait(0.5)
        except subprocess.TimeoutExpired:
            continue
    client.kill()
    status = client.wait()
    if name and status:
        _tell(engine, "rm", "--force", name)  # --rm has done it, if all went well
    return status


def _tell(engine: str, *arguments: str) -> None:
    # no pipe, whose end would be waited for beyond the time limit
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([engine, *arguments], timeout=PATIENCE, **quiet)  # type: ignore[call-overload]


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1], sys.argv[2], sys.argv[3:]))

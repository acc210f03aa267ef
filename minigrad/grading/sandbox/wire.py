"""Talk to a kernel that is not to be trusted.

Only what grading needs of Jupyter's protocol, over unix sockets: run a cell, and collect what it
publishes until it is idle. Whatever the kernel sends is data of limited size, counted frame by
frame (channel.py); nothing of it is believed but its JSON, and the time limit is a point in time,
which no message can put off.

The session key is in a file that the kernel itself reads, so signatures prove nothing here and
are not checked: an answer is worth what its values are worth.

Source: Jupyter's messaging protocol 5.3.
"""

import hashlib
import hmac
import json
import os
import secrets
import selectors
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from minigrad.grading.sandbox.channel import Budget, Channel, Closed, TooMuch
from minigrad.grading.sandbox.launch import Process

End = Literal["idle", "died", "time", "messages", "bytes", "disk", "nonsense"]
PORTS = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4, "hb": 5}
DELIMITER = b"<IDS|MSG>"
SLICE = 0.05  # seconds between two looks at whether the kernel is alive


class NotStarted(RuntimeError):
    """The kernel did not come up. No student's code had run: it is the machine's fault."""


@dataclass
class CellRun:
    """What came of a cell.

    end        idle if it ran through; otherwise why it was ended
    error      the exception that it raised, as "Name: message", or how it died, or None
    published  the contents of the display messages that belong to it, in order
    """

    end: End = "idle"
    error: str | None = None
    published: list[dict[str, Any]] = field(default_factory=list)


class Kernel:
    """A kernel in a sandbox, from its start to its end; use it as a context manager."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.key = secrets.token_bytes(16).hex()
        self.session = secrets.token_hex(8)
        self.channels: dict[str, Channel] = {}

    def __enter__(self) -> "Kernel":
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process and close the sockets; may be called when only some were opened."""
        self.process.kill()
        for channel in self.channels.values():
            channel.close()

    def _start(self) -> None:
        ends = time.monotonic() + self.process.limits.start
        connection = {
            "transport": "ipc",
            "ip": f"{self.process.inside}/k",
            **{f"{name}_port": port for name, port in PORTS.items()},
            "key": self.key,
            "signature_scheme": "hmac-sha256",
            "kernel_name": "python3",
        }
        (self.process.folder / "k.json").write_text(json.dumps(connection), encoding="utf-8")
        self.process.start({"connection": f"{self.process.inside}/k.json"})
        for name, kind in (("shell", b"DEALER"), ("iopub", b"SUB")):
            path = self.process.folder / f"k-{PORTS[name]}"
            while not _listens(str(path)):
                self._wait_no_longer_than(ends)
                time.sleep(0.01)
            # once connected, never again: by then the socket may be a link to somewhere else
            try:
                self.channels[name] = Channel(str(path), kind, ends)
            except (OSError, Closed, TooMuch) as error:
                raise NotStarted(f"the kernel did not start: {error}") from None
        # The subscription takes a moment to arrive; until then what is published is lost.
        while True:
            self._wait_no_longer_than(ends)
            sent = self._send("kernel_info_request", {})
            if self._await(sent, min(time.monotonic() + 1, ends), lambda kind, _: None) == "idle":
                return

    def _wait_no_longer_than(self, ends: float) -> None:
        """Raise NotStarted if the kernel has ended, or did not answer until then."""
        if not self.process.alive():
            raise NotStarted(f"the kernel ended before it answered ({self.process.ending()})")
        if time.monotonic() > ends:
            raise NotStarted(f"the kernel did not answer in {self.process.limits.start:g} s")

    def run(self, source: str, deadline: float) -> CellRun:
        """Run a cell until it is idle, or until a point in time of the monotonic clock."""
        run = CellRun()

        def take(kind: str, content: dict[str, Any]) -> None:
            if kind == "error":
                name, value = content.get("ename"), content.get("evalue")
                run.error = f"{str(name)[:80]}: {str(value)[:500]}"
            elif kind == "display_data" and isinstance(content.get("data"), dict):
                run.published.append(content["data"])

        code = {
            "code": source,
            "silent": False,
            "store_history": False,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        run.end = self._await(self._send("execute_request", code), deadline, take)
        if run.end == "died":
            run.error = self.process.ending() or None
        return run

    def _send(self, kind: str, content: dict[str, Any]) -> str:
        message = secrets.token_hex(16)
        header = {
            "msg_id": message,
            "session": self.session,
            "username": "grader",
            "date": "2000-01-01T00:00:00Z",
            "msg_type": kind,
            "version": "5.3",
        }
        parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
        signature = hmac.new(self.key.encode(), b"".join(parts), hashlib.sha256).hexdigest()
        with suppress(Closed):  # it is gone, or does not listen: the deadline will tell
            self.channels["shell"].send([DELIMITER, signature.encode(), *parts])
        return message

    def _await(
        self, message: str, deadline: float, take: Callable[[str, dict[str, Any]], None]
    ) -> End:
        limits = self.process.limits
        budget = Budget(limits.messages, limits.bytes, limits.message_bytes)
        looked = time.monotonic()
        with selectors.DefaultSelector() as waiting:
            for channel in self.channels.values():
                waiting.register(channel.socket, selectors.EVENT_READ, channel)
            while True:
                now = time.monotonic()
                if now >= deadline:
                    return "time"
                ready = waiting.select(min(SLICE, max(0.001, deadline - now)))
                for key, _ in ready:
                    try:
                        for kind, content in self._told(key.data, budget, message):
                            if kind == "status" and content.get("execution_state") == "idle":
                                return "idle"
                            take(kind, content)
                    except TooMuch as error:
                        return error.what
                    except Closed:
                        waiting.unregister(key.fileobj)
                        if not waiting.get_map():
                            return "died"
                if not ready and not self.process.alive():
                    return "died"
                if now - looked > 0.5:
                    looked = now
                    if self.process.too_much_written():
                        return "disk"

    def _told(
        self, channel: Channel, budget: Budget, message: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Kind and content of what the channel brings that belongs to a message of ours."""
        for frames in channel.messages(budget):
            if channel is self.channels["shell"]:
                continue  # replies tell nothing that is needed
            for kind, parent, content in _parsed(frames):
                if parent == message:
                    yield kind, content


def _parsed(frames: list[bytes]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Kind, parent and content of a message; nothing if it is not one."""
    if DELIMITER not in frames:
        return
    parts = frames[frames.index(DELIMITER) + 2 :]
    if len(parts) < 4:
        return
    try:
        header, parent, content = (json.loads(parts[i]) for i in (0, 1, 3))
    except (ValueError, RecursionError, MemoryError):
        return
    if all(isinstance(part, dict) for part in (header, parent, content)):
        yield str(header.get("msg_type")), str(parent.get("msg_id")), content


def _listens(path: str) -> bool:
    """Is there a socket, and somebody who listens? Between the two there is a moment."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(1)
            tried.connect(path)
        return True
    except OSError:
        return False

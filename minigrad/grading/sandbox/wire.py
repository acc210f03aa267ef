"""Talk to an untrusted kernel.

This is the part of Jupyter's protocol that grading needs, over unix sockets: run a cell, and collect
what it publishes until it is idle. What the kernel sends is limited in size, frame by frame
(channel.py), and only parsed as JSON. The time limit is an absolute deadline, which no message can
extend.

The kernel can read the session key, so signatures prove nothing and are not checked: an answer is
judged by its values alone.

Source: Jupyter's messaging protocol 5.3.
"""

import hashlib
import hmac
import json
import re
import secrets
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from minigrad.grading.sandbox.channel import Budget, Channel, Closed, TooMuch
from minigrad.grading.sandbox.launch import Process

End = Literal["idle", "died", "time", "messages", "bytes", "disk"]
PORTS = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4, "hb": 5}
DELIMITER = b"<IDS|MSG>"
OF_A_CELL = re.compile(r"\((?:\d+\.py|<tokenize>), line (\d+)\)")  # a syntax error in a cell
SLICE = 0.05  # seconds between checks that the kernel is alive


class NotStarted(RuntimeError):
    """The kernel did not start. No student's code had run, so the machine is at fault."""


@dataclass
class CellRun:
    """The result of running a cell.

    end        "idle" if it finished; otherwise why it was stopped
    error      the exception that it raised, as "Name: message", or how the kernel died; or None
    published  the data of its display messages, in order
    """

    end: End = "idle"
    error: str | None = None
    published: list[dict[str, Any]] = field(default_factory=list)


class Kernel:
    """A kernel in a sandbox, as a context manager that starts and kills it."""

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
        """Kill the process and close the sockets, even if only some were opened."""
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
            path = str(self.process.folder / f"k-{PORTS[name]}")
            while name not in self.channels:
                self._wait_no_longer_than(ends)
                try:
                    self.channels[name] = Channel(path, kind, ends)
                except OSError:  # nobody listens there yet
                    time.sleep(0.01)
                except (Closed, TooMuch) as error:
                    raise NotStarted(f"the kernel did not start: {error}") from None
        # Messages published before our subscription arrives are lost, so ask until we get a reply.
        while True:
            self._wait_no_longer_than(ends)
            sent = self._send("kernel_info_request", {})
            if self._await(sent, min(time.monotonic() + 1, ends), lambda kind, _: None) == "idle":
                return

    def _wait_no_longer_than(self, ends: float) -> None:
        """Raise NotStarted if the kernel has ended, or if the time is up."""
        if not self.process.alive():
            raise NotStarted(f"the kernel ended before it answered ({self.process.ending()})")
        if time.monotonic() > ends:
            raise NotStarted(f"the kernel did not answer in {self.process.limits.start:g} s")

    def run(self, source: str, deadline: float) -> CellRun:
        """Run a cell until the kernel is idle, or until a deadline on the monotonic clock."""
        run = CellRun()

        def take(kind: str, content: dict[str, Any]) -> None:
            if kind == "error":
                name, value = content.get("ename"), content.get("evalue")
                text = OF_A_CELL.sub(r"(line \1 of the cell)", str(value)[:500])
                run.error = f"{str(name)[:80]}: {text}"
            elif kind == "display_data" and isinstance(content.get("data"), dict):
                run.published.append(content["data"])

        off = dict.fromkeys(("silent", "store_history", "allow_stdin", "stop_on_error"), False)
        code = {"code": source, "user_expressions": {}, **off}
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
        with suppress(Closed):  # the kernel is gone or stuck: _await will find out
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
                        for kind, content in self._messages_for(key.data, budget, message):
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

    def _messages_for(
        self, channel: Channel, budget: Budget, message: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield kind and content of the channel's messages that belong to this request."""
        for frames in channel.messages(budget):
            if channel is self.channels["shell"]:
                continue  # replies are not needed
            for kind, parent, content in _parsed(frames):
                if parent == message:
                    yield kind, content


def _parsed(frames: list[bytes]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kind, parent id and content of a message; nothing if it is malformed."""
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

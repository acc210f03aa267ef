"""A connection to a kernel: ZMTP frames over a unix socket, counted as they arrive.

A ZeroMQ library buffers a whole message, of any number of frames, before it delivers it, so a kernel
could exhaust our memory. Here data is read in small pieces, with a deadline, and reading stops as
soon as a limit is exceeded.

    greeting    64 bytes each way: the version, and the mechanism NULL (no encryption)
    READY       a command each way with the socket type
    messages    frames; all but the last have the flag MORE

Source: ZMTP 3.0, https://rfc.zeromq.org/spec/23/
"""

import socket
import time
from collections.abc import Iterator
from typing import Literal

Kind = Literal["messages", "bytes"]

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE, LONG, COMMAND = 1, 2, 4
CHUNK = 1 << 16  # bytes to read at a time
FRAMES = 10  # average frames allowed per message; a normal message has seven


class TooMuch(Exception):
    """The kernel sent more messages, frames or bytes than the limits allow."""

    def __init__(self, what: Kind) -> None:
        super().__init__(what)
        self.what = what


class Closed(Exception):
    """The connection has ended, or the data is not ZMTP."""


class Budget:
    """How much the kernel may still send for one cell, over all channels.

    messages   complete messages
    frames     frames of any size, because even empty ones take time
    bytes      total bytes of all frames
    message    bytes of a single message
    """

    def __init__(self, messages: int, size: int, message: int) -> None:
        self.messages, self.frames = messages, FRAMES * messages
        self.bytes, self.message = size, message

    def spend(self, size: int, whole: bool) -> None:
        """Count a frame of this size, and a message if it makes one whole. Raises TooMuch."""
        self.frames -= 1
        self.bytes -= size
        self.messages -= whole
        if self.bytes < 0:
            raise TooMuch("bytes")
        if self.frames < 0 or self.messages < 0:
            raise TooMuch("messages")


class Channel:
    """A connection to a socket of the kernel at a path.

    kind   b"DEALER" for requests, or b"SUB" for what the kernel publishes
    """

    def __init__(self, path: str, kind: bytes, ends: float) -> None:
        self._arrived = bytearray()
        self._message: list[bytes] = []  # frames of the incomplete message
        self._size = 0
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.settimeout(max(0.01, ends - time.monotonic()))
            self.socket.connect(path)
            self._handshake(kind, ends)
            if kind == b"SUB":
                self.send([b"\x01"])  # subscribe to everything
        except BaseException:
            self.socket.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _handshake(self, kind: bytes, ends: float) -> None:
        ready = b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind
        self.socket.sendall(GREETING + bytes([COMMAND, len(ready)]) + ready)
        while len(self._arrived) < len(GREETING):
            self._read(ends)
        if self._arrived[0] != 0xFF or self._arrived[10] < 3 or self._arrived[12:17] != b"NULL\0":
            raise Closed("this is not ZMTP 3 without encryption")
        del self._arrived[: len(GREETING)]
        while (frame := self._frame(CHUNK)) is None:
            self._read(ends)
        if not frame[0] & COMMAND or not frame[1].startswith(b"\x05READY"):
            raise Closed("the kernel did not say that it is ready")

    def _read(self, ends: float) -> None:
        """Wait for the next piece of data."""
        self.socket.settimeout(max(0.01, ends - time.monotonic()))
        try:
            piece = self.socket.recv(CHUNK)
        except OSError as error:  # a timeout is one
            raise Closed(str(error)) from None
        if not piece:
            raise Closed("the connection was closed")
        self._arrived += piece

    def send(self, frames: list[bytes]) -> None:
        """Send a message. Raises Closed if the kernel is gone or not listening."""
        parts = []
        for k, frame in enumerate(frames):
            flags, n = MORE * (k + 1 < len(frames)), len(frame)
            head = bytes([flags, n]) if n < 256 else bytes([flags | LONG]) + n.to_bytes(8, "big")
            parts.append(head + frame)
        self.socket.settimeout(1)
        try:
            self.socket.sendall(b"".join(parts))
        except OSError as error:
            raise Closed(str(error)) from None

    def messages(self, budget: Budget) -> Iterator[list[bytes]]:
        """Read one piece, and yield the messages that it completes. Call it only when data is ready.

        Raises TooMuch and Closed.
        """
        self._read(time.monotonic() + 1)
        while (frame := self._frame(budget.message)) is not None:
            flags, body = frame
            whole = not flags & (COMMAND | MORE)
            budget.spend(len(body), whole)
            if flags & COMMAND:
                continue
            self._message.append(body)
            self._size += len(body)
            if self._size > budget.message:
                raise TooMuch("bytes")
            if whole:
                frames, self._message, self._size = self._message, [], 0
                yield frames

    def _frame(self, most: int) -> tuple[int, bytes] | None:
        """Flags and body of the next frame; None if it has not fully arrived."""
        arrived = self._arrived
        if len(arrived) < 2:
            return None
        flags, start = arrived[0], 9 if arrived[0] & LONG else 2
        if len(arrived) < start:
            return None
        n = int.from_bytes(arrived[1:start], "big")
        if n > most:
            raise TooMuch("bytes")
        if len(arrived) < start + n:
            return None
        body = bytes(arrived[start : start + n])
        del arrived[: start + n]
        return flags, body

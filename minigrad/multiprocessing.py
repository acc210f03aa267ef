"""The names of torch.multiprocessing: Python's multiprocessing, and `spawn`.

    spawn(fn, args, nprocs)    calls fn(0, *args), fn(1, *args), ..., each in its own process

If a process fails or is killed, the others are stopped, and the parent raises an error that names
the process and shows its traceback.

Tensors among the arguments are copied, unless they are in shared memory (`x.share_memory_()`).
Then all processes see the same values; see core/sharing.py. (PyTorch moves every tensor that it
sends to shared memory. Here, the program does that itself.)
"""

import multiprocessing
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403  # its __all__, as in PyTorch
from multiprocessing.connection import Connection, wait
from typing import Any

from minigrad.core import sharing as sharing  # registers how shared tensors are pickled

__all__ = [
    *multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "spawn", "start_processes",
]  # fmt: skip


class ProcessException(Exception):
    """A process failed. error_index is its number, from 0, and error_pid its process id."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception. The message contains its traceback."""


class ProcessExitedException(ProcessException):
    """A process was killed by a signal, or called exit with a code other than 0."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        kind, given = super().__reduce__()
        return kind, (*given, self.exit_code, self.signal_name)


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> "ProcessContext | None":
    """Run fn(i, *args) in nprocs processes, with i = 0, 1, ...

    fn       a function at the top level of a module, so that a child can import it. In a notebook,
             use start_processes(..., start_method="fork") for a function that a cell defines
    join     wait until all processes have ended; otherwise, return a ProcessContext at once

    Raises ProcessRaisedException if a process raises an exception, and ProcessExitedException if
    it is killed or exits with a code other than 0. The other processes are stopped.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> "ProcessContext | None":
    """Like `spawn`, with any start method: "spawn", "fork" or "forkserver"."""
    context = multiprocessing.get_context(start_method)
    started = ProcessContext([], [])
    try:
        for i in range(nprocs):
            reader, writer = context.Pipe(duplex=False)
            process: Any = context.Process(target=_run, args=(fn, i, args, writer), daemon=daemon)  # type: ignore[attr-defined]
            process.start()
            writer.close()  # the child has its own copy, so our end reads EOF when the child dies
            started.processes.append(process)
            started._errors.append(reader)
    except BaseException:
        started._stop(0)
        raise
    if not join:
        return started
    try:
        while not started.join():
            pass
    except BaseException:
        started._stop(0)
        raise
    return None


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], errors: Connection) -> None:
    """Run in the child, and send the traceback of an exception to the parent."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too, and reports it
    except Exception:
        # Short enough for the buffer of a pipe: the parent reads only after this process has ended.
        errors.send(traceback.format_exc()[-12_000:])
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], errors: list[Connection]) -> None:
        self.processes = processes
        self._errors = errors
        self._ended: set[int] = set()

    def pids(self) -> list[int]:
        """The process ids, in the order the processes started."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends. Return True if all have ended.

        timeout         the maximum number of seconds to wait
        grace_period    if one process fails, how many seconds the others have to exit on their own

        Raises ProcessRaisedException or ProcessExitedException, as `spawn` does.
        """
        running = {p.sentinel: i for i, p in enumerate(self.processes) if i not in self._ended}
        for sentinel in wait(list(running), timeout) if running else ():
            i = running[sentinel]
            self.processes[i].join()
            self._ended.add(i)
            if self.processes[i].exitcode != 0:
                self._stop(grace_period)
                raise self._error_of(i)
        return len(self._ended) == len(self.processes)

    def _stop(self, grace_period: float | None) -> None:
        """End all processes: wait for them, then terminate them, then kill them."""
        for ask in (None, "terminate", "kill"):
            alive = [p for p in self.processes if p.is_alive()]
            if ask is not None:
                for process in alive:
                    getattr(process, ask)()
            default = 0 if ask is None else 5
            seconds = default if grace_period is None else grace_period
            end = time.monotonic() + seconds
            for process in alive:
                process.join(max(0, end - time.monotonic()))
        for process in self.processes:
            process.join()

    def _error_of(self, i: int) -> ProcessException:
        process, errors = self.processes[i], self._errors[i]
        code = process.exitcode
        try:
            text = errors.recv() if errors.poll() else None
        except (EOFError, OSError, pickle.UnpicklingError):
            text = None  # it died before or while it sent a traceback
        if text is not None:
            return ProcessRaisedException(
                f"\n\n-- Process {i} terminated with the following error:\n{text}", i, process.pid
            )
        if code >= 0:
            return ProcessExitedException(
                f"process {i} terminated with exit code {code}", i, process.pid, code
            )
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        return ProcessExitedException(
            f"process {i} terminated with signal {name}", i, process.pid, code, name
        )

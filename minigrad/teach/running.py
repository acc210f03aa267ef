"""Run a student's function safely.

Whatever the function does, there is an outcome: what it returned, or a message that says what happened.

    run(answer, inputs, seconds)    call it with copies of the inputs, within a time limit
    loose_names(answer, given)      names that it uses from cells that are not graded

In the main thread, a signal (SIGALRM) enforces the time limit. In other threads, and on Windows, a
timer makes the interpreter raise the same exception. Neither can interrupt a single call into NumPy.
This is no sandbox: checks run in the student's own kernel.
What the function prints is kept, up to a limit, and shown only if something is wrong.
"""

import ast
import builtins
import copy
import ctypes
import dis
import inspect
import io
import linecache
import re
import signal
import symtable
import textwrap
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.core.errors import OTHER_ARGUMENTS
from minigrad.core.modes import within
from minigrad.tape.adapters import tensor_kinds
from minigrad.tape.names import count_of
from minigrad.teach.results import Kind

PRINTED = 2_000  # characters kept of what a student's function prints


class TooSlow(BaseException):
    """Raised inside the student's code when its time is up.

    It is not an Exception, so `except Exception` in the student's loop does not catch it.
    """


@dataclass
class Outcome:
    """The outcome of a call.

    returned   what the function returned
    trouble    a verdict and a message, if it did not return
    changed    the inputs that it changed in place
    printed    what it printed
    """

    returned: Any = None
    trouble: tuple[Kind, str] | None = None
    changed: tuple[str, ...] = ()
    printed: str = ""


def run(answer: Callable[..., Any], inputs: Mapping[str, Any], seconds: float) -> Outcome:
    """Call the student's function with copies of the inputs."""
    handed = {name: fresh(value) for name, value in inputs.items()}
    out = _Kept()
    outcome = Outcome()
    try:
        with (
            time_limit(seconds),
            quiet(out),
            within("tracing", True),
        ):  # errors show all their lines
            outcome.returned = answer(*handed.values())
    except NotImplementedError:
        message = (
            "the line  raise NotImplementedError()  is still there; write your answer in its place"
        )
        outcome.trouble = "not written", message
    except TooSlow:
        outcome.trouble = (
            "too slow",
            f"no result after {seconds:g} s; is there a loop that never ends, or work that doubles at each step?",
        )
    except (Exception, SystemExit, GeneratorExit) as error:
        called = getattr(answer, "called_with", ", ".join(inputs))
        outcome.trouble = "error", error_in_words(error, answer, called)
    outcome.changed = tuple(n for n, value in inputs.items() if not _same(value, handed[n]))
    outcome.printed = out.getvalue()
    return outcome


def fresh(value: object) -> Any:
    """A copy that the student may change, with the same memory layout."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.c_contiguous else strided(value)
    try:
        return copy.deepcopy(value)
    except Exception:  # cannot be copied, such as a module: pass the original
        return value


def strided(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A non-contiguous copy: every second entry of a larger array."""
    wide = np.zeros(tuple(2 * n for n in value.shape), value.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in value.shape)]
    view[...] = value
    return view


@contextmanager
def quiet(out: io.StringIO) -> Iterator[None]:
    """Redirect prints to `out`. Ignore warnings: the files that they name change from run to run."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with redirect_stdout(out), redirect_stderr(out):
            yield


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow inside the block when its time is up. Ctrl-C still works."""
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        yield from _alarm(seconds)
    else:
        yield from _timer(seconds)


def _alarm(seconds: float) -> Iterator[None]:
    running = True

    def ring(number: int, frame: types.FrameType | None) -> None:
        if running:
            raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    # Repeat the signal: a bare `except:` in a loop catches one, but not all.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _timer(seconds: float) -> Iterator[None]:
    done, lock = threading.Event(), threading.Lock()
    target = ctypes.c_ulong(threading.get_ident())

    def ring() -> None:
        wait = seconds
        while not done.wait(wait):
            with lock:
                if not done.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(TooSlow))
            wait = 0.05

    watch = threading.Thread(target=ring, daemon=True)
    watch.start()
    try:
        yield
    finally:
        with lock:  # from here on, the timer has no effect; a pending exception is cancelled
            done.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, None)
        watch.join()


class _Kept(io.StringIO):
    """A text buffer with a maximum size."""

    def write(self, text: str, /) -> int:
        room = PRINTED - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)


def error_in_words(error: BaseException, answer: object, called: str) -> str:
    """The exception in one line, with the line of the student's code that raised it.

    called    the arguments of the call, shown if the function does not take them
    """
    try:
        words = str(error)
    except Exception:
        words = ""
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    text += about_a_tuple(error)
    codes = {code.co_filename for code in _codes(answer)}
    for entry in reversed(traceback.extract_tb(error.__traceback__)):
        if entry.filename in codes and entry.lineno is not None:
            line = linecache.getline(entry.filename, entry.lineno).strip()
            return f"{text}    in the line  {line}" if line else text
    if isinstance(error, TypeError) and re.search(OTHER_ARGUMENTS, text):
        return f"{text}; it is called with  {called}"
    return text


def about_a_tuple(error: BaseException) -> str:
    """How to get a tensor out of a tuple, if a tuple of tensors was taken for a tensor; "" for other errors."""
    given = error.obj if isinstance(error, AttributeError) else None
    if not isinstance(given, tuple | list) or not given or not isinstance(given[0], tensor_kinds()):
        return ""
    if not hasattr(given[0], str(error.name)):  # type: ignore[attr-defined]
        return ""
    kind, items = type(given).__name__, all(isinstance(x, tensor_kinds()) for x in given)
    n = count_of(len(given), "tensor" if items else "item")
    return f". This is a {kind} with {n}. To fix it, take one out of it, as in  (x,) = ctx.saved_tensors  or  grads[0]"


def loose_names(answer: object, given: frozenset[str]) -> list[str]:
    """Global names that the answer uses but that neither its own cell nor a given cell defines.

    Empty if the source of the answer's cell is not available.
    """
    codes = _codes(answer)
    files = {code.co_filename for code in codes}
    if len(files) != 1:
        return []
    source = "".join(linecache.getlines(next(iter(files))))
    own = defined_in(source)
    if not own:
        return []
    space = getattr(next(iter(_functions(answer))), "__globals__", {})
    used: dict[str, None] = {}
    for code in codes:
        used |= dict.fromkeys(_globals(code, "LOAD_GLOBAL", "LOAD_NAME"))
    known = own | given | set(vars(builtins)) | set(changed_names(answer))
    return [name for name in used if name in space and name not in known]


def changed_names(answer: object) -> list[str]:
    """The global variables that the answer assigns to."""
    names = (name for code in _codes(answer) for name in _globals(code, "STORE_GLOBAL"))
    return list(dict.fromkeys(names))


def defined_in(source: str) -> set[str]:
    """The names that a cell defines at its top level; empty if it cannot be read."""
    lines = source.splitlines()
    python = [line for line in lines if not line.startswith(("%", "!"))]  # without magics
    for some in (lines, python):
        with suppress(SyntaxError):
            symbols = symtable.symtable("\n".join(some), "a cell", "exec").get_symbols()
            return {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
    return set()


def written_for(answer: object, k: int, n: int) -> str:
    """The expression that the student wrote for part k of the n returned ones; empty if it is not clear.

    It is taken from the function's only `return`. If that names a variable, it is the last assignment to it.
    """
    found = ""
    with suppress(Exception):  # no source, or an object that only looks like a function
        tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))  # type: ignore[arg-type]
        (returned,) = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
        part: ast.AST | None = returned
        if n > 1 and isinstance(returned, ast.Tuple | ast.List) and len(returned.elts) == n:
            part = returned.elts[k]
        if isinstance(part, ast.Name):
            writes = [n for n in ast.walk(tree) if isinstance(n, ast.Assign | ast.AugAssign)]
            to = [(n, n.targets if isinstance(n, ast.Assign) else [n.target]) for n in writes]
            named = [n for n, targets in to if part.id in map(ast.unparse, targets)]
            part = max(named, key=lambda node: node.lineno)
        found = ast.unparse(part) if part is not None else ""
    return found if len(found) <= 120 else ""


def _codes(answer: object) -> list[types.CodeType]:
    """The code of a function, or of the methods of a class; for a wrapper, of the wrapped function."""
    codes = [
        getattr(f, "__code__", None) for f in _functions(getattr(answer, "__wrapped__", answer))
    ]
    return [code for code in codes if isinstance(code, types.CodeType)]


def _functions(answer: object) -> list[Any]:
    """The methods of a class; or the answer itself."""
    if not isinstance(answer, type):
        return [answer]
    members = [getattr(m, "__func__", m) for m in vars(answer).values()]
    return [m for m in members if isinstance(m, types.FunctionType)]


def _globals(code: types.CodeType, *operations: str) -> Iterator[str]:
    """The global names on which a function, or an inner function of it, does one of these operations."""
    for step in dis.get_instructions(code):
        if step.opname in operations and isinstance(step.argval, str):
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _globals(inner, *operations)


def _same(before: object, after: Any) -> bool:
    """Is an input unchanged? If it cannot be compared, we assume that it is."""
    if isinstance(before, np.ndarray):
        return bool(before.shape == after.shape and before.tobytes() == after.tobytes())
    if isinstance(before, list | dict | set):
        try:
            return bool(before == after)
        except Exception:
            return True
    return True

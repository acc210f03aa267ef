"""What would fail on another system, as far as reading the code can tell."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [p for place in ("minigrad", "tests") for p in sorted((ROOT / place).rglob("*.py"))] + [
    ROOT / "start.py",
    ROOT / "hatch_build.py",
]

# Where Windows has none of this, or Python was built without it.
ELSEWHERE = """
import importlib, os, pkgutil, signal, socket, sys
import multiprocessing.sharedctypes, asyncio, subprocess                 # these do without as they load
import anywidget, IPython.core.completer, ipywidgets, matplotlib.pyplot, nbformat, nbval.plugin, pytest, typer, zmq

for name in ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for module, names in (
    (os, "fork forkpty register_at_fork getuid geteuid getgid setsid killpg uname nice O_NOFOLLOW"),
    (signal, "SIGKILL SIGALRM SIGHUP SIGXCPU setitimer alarm pthread_sigmask"),
    (socket, "AF_UNIX"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
import minigrad

sys.modules["torch"] = None                                              # a package that needs it is skipped
for module in pkgutil.walk_packages(minigrad.__path__, "minigrad."):
    if module.name.removeprefix("minigrad.grading.sandbox.") in ("boot", "lockdown", "probe"):
        continue                                                         # they run in the sandbox only
    if not module.name.startswith("minigrad.tape.torch"):                # it needs PyTorch
        importlib.import_module(module.name)
"""


def test_every_module_imports_without_what_only_posix_has():
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], cwd=ROOT, capture_output=True, encoding="utf-8"
    )

    assert not done.returncode, done.stderr


@functools.cache
def found():
    """What is amiss in the calls, and in the classes, of all files, which are read once."""
    calls, hints = [], []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and guesses(node):
                calls.append(f"{path}:{node.lineno}")
            if isinstance(node, ast.ClassDef):
                hints += [f"{path}:{hint.lineno} {hint.id}" for hint in hidden_hints(node)]
    return calls, hints


def test_every_text_file_is_read_and_written_in_a_named_encoding():
    assert found()[0] == []


def guesses(call: ast.Call) -> bool:
    """Does the call take the encoding of the machine it runs on, which on Windows is not UTF-8?"""
    named = {k.arg: k.value for k in call.keywords}
    if "encoding" in named or None in named:
        return False
    method = isinstance(call.func, ast.Attribute)
    name = call.func.attr if method else getattr(call.func, "id", "")
    if name in ("read_text", "write_text"):
        return len(call.args) == (name == "write_text")
    if name == "fdopen" or (name == "open" and not method):
        mode = call.args[1] if len(call.args) > 1 else named.get("mode", ast.Constant("r"))
        return isinstance(mode, ast.Constant) and "b" not in mode.value
    return isinstance(text := named.get("text"), ast.Constant) and text.value is True


def test_no_annotation_in_a_class_is_the_name_of_a_method_there():
    """From Python 3.14 on, annotations are evaluated late: `int` is then the method, if the class has one."""
    assert found()[1] == []


def hidden_hints(cls):
    methods = [m for m in cls.body if isinstance(m, ast.FunctionDef)]
    names = {m.name for m in methods}
    for m in methods:
        arguments = [a for a in ast.walk(m.args) if isinstance(a, ast.arg)]
        for hint in [*(a.annotation for a in arguments), m.returns]:
            found = [] if hint is None else ast.walk(hint)
            yield from [n for n in found if isinstance(n, ast.Name) and n.id in names]

"""The magics: one short method each; its docstring is the user's help.

    %%autograd [NAME]      run the cell, record it, show the tape
    %tape [NAME]           show a tape again
    %chain z               the grad_fn chain of a tensor
    %compare z x1=... ...  hand-derived gradients against the engine's
    %gradcheck f x ...     the engine's gradients against central differences

`%%autograd?` shows the help. A cell with `%%autograd` runs like any other cell, through
the shell. So line numbers, the value of the last expression, and errors are as the
user expects.

A line that cannot be parsed raises a UsageError, which says what is wrong with it and how
to write it. Errors in the user's computations are Python's own.
"""

from __future__ import annotations

import ast
import asyncio
import atexit
import builtins
import difflib
import importlib
import inspect
import re
import shutil
import sys
import tempfile
import webbrowser
from collections.abc import Coroutine
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from traceback import walk_stack, walk_tb
from types import CodeType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display
from IPython.utils.capture import capture_output

from minigrad.core.engines import ENGINES
from minigrad.core.modes import within
from minigrad.core.tensor import Tensor
from minigrad.jupyter.completion import variables
from minigrad.jupyter.display import shown_as
from minigrad.jupyter.gradient_report import GradcheckReport, gradcheck_report, is_floating_tensor
from minigrad.jupyter.lines import gradients, parsed, tape_name, words_of
from minigrad.tape.adapters import tensor_kinds
from minigrad.tape.chain import Chain
from minigrad.tape.record import Tape, record
from minigrad.teach.compare import compare_in
from minigrad.teach.two_engines import BothTapes, imported_torch, random_numbers_from, run_recorded

Variables = dict[str, Any] | None


@magics_class
class AutogradMagics(Magics):
    """The magics of `%load_ext minigrad`."""

    shell: Any  # the shell that the user types into
    latest: Tape | BothTapes | None = None

    @magic_arguments()
    @argument("name", nargs="*", help="the variable that the tape is bound to; `tape` by default")
    @argument(
        "--engine",
        choices=list(ENGINES),
        default="graph",
        help="which engine runs the backward passes of the cell, to compare them",
    )
    @argument(
        "--both",
        action="store_true",
        help="run the cell with PyTorch, then with minigrad in its place, and compare the tapes",
    )
    @argument("--no-widget", action="store_true", help="show the picture, not the inspector")
    @argument("--open", action="store_true", help="open the tape's page in a browser, as well")
    @cell_magic
    def autograd(self, line: str, cell: str) -> None:
        """Run the cell, record its operations and backward passes, and show the tape.

        The tape is a picture of both passes: data flows down, gradients flow up. It is
        bound to NAME (by default `tape`), so that you can continue with it:

            tape.steps(z)           walk through a backward pass, node by node
            tape.save("z.svg")      save the picture (.svg .png .html .txt .json)

        If the cell raises an error, the tape up to the error is shown above the error.

        With --both, the cell, written for PyTorch, runs twice: first in a copy of your
        variables in which `torch` is minigrad (also in modules that the cell imports, and in
        your functions), then unchanged. Tensors are copied, and both runs use the same random
        numbers. Models and optimizers cannot be copied: create them in the cell. Output and
        variables of the first run are discarded. NAME is bound to both tapes: NAME.torch and
        NAME.minigrad each show an inspector, and NAME.rows lists the differences.
        """
        __tracebackhide__ = True  # the traceback is for the user, so it starts in the cell
        options = parsed(self.autograd, line)
        name = tape_name(options.name)
        tree, file = self._parse(cell)
        if options.both and options.open:
            raise UsageError(
                "%%autograd: --open opens the page of one tape, and --both records two. To fix it, leave "
                f"--open out, and save the page of one:  {name}.torch.save('tape.html')"
            )
        show = not cell.rstrip().endswith(";")  # a semicolon suppresses the last value
        if options.both:
            with within("engine", options.engine):
                self._both(name, tree, file, show)
            return
        recording = record(name, namespace=self.shell.user_ns)
        try:
            with within("engine", options.engine), recording as tape:
                tape.home = file
                self._run(tree, file, show, recording)
        finally:
            self._bind(name, tape)
            with shown_as("svg") if options.no_widget else nullcontext():
                display(tape)
            if options.open:
                _open_page(tape)

    @line_magic("%autograd")  # type: ignore[arg-type]
    def _below_the_first_line(self, line: str) -> None:
        """IPython looks for this if %%autograd is not in the first line of its cell."""
        raise UsageError(
            "%%autograd must be the first line of the cell: move it above comments, too."
        )

    def _both(self, name: str, tree: ast.Module, file: str, show: bool) -> None:
        """Run the cell on both engines, and show the differences."""
        __tracebackhide__ = True
        user = self.shell.user_ns
        try:
            if any(_imports_torch(node) for node in ast.walk(tree)):
                importlib.import_module("torch")
            torch = imported_torch("%%autograd --both")
            from minigrad.tape.torch.exchange import exchange
        except ImportError as error:
            raise UsageError(str(error)) from None
        copy, left_out = exchange(tree, user)
        start = torch.get_rng_state().tolist()
        with random_numbers_from(start), capture_output():
            run = partial(self._run, tree, file, False, copy=copy)
            ours, failed = run_recorded(name, run, lambda: copy, file)
        if isinstance(failed, NameError) and failed.name in left_out:
            raise UsageError(f"%%autograd --both: {left_out[failed.name]}")
        run = partial(self._run, tree, file, show)
        theirs, failed = run_recorded(name, run, lambda: user, file)
        tapes = BothTapes(name, theirs, ours)
        self._bind(name, tapes)
        display(tapes)
        if failed is not None:
            raise failed

    def _bind(self, name: str, tape: Tape | BothTapes) -> None:
        """Bind the tape to its name, unless a model, a module, or another value would be lost."""
        self.latest = tape
        existing = self.shell.user_ns.get(name, getattr(builtins, name, None))
        imported = inspect.isfunction(existing) and existing.__module__.startswith("minigrad.")
        if not (existing is None or imported or isinstance(existing, Tape | BothTapes)):
            wanted, name = name, "tape" if name != "tape" else "tape_1"
            print(
                f"%%autograd: {wanted} is {_with_article(existing)} and is not overwritten: the tape is bound to "
                f"`{name}` instead. To name it, choose another name:  %%autograd {wanted}_tape",
                file=sys.stderr,
            )
        self.shell.user_ns[name] = tape
        tape.name = name

    def _parse(self, cell: str) -> tuple[ast.Module, str]:
        """The cell's code, with the user's line numbers, and its file name.

        The magic's own line is line 1 of the cell. IPython knows the file name, so
        a traceback shows "Cell In[4], line 3" and the line's text.
        """
        shell = self.shell
        source = "\n" + shell.transform_cell(cell)
        file = shell.compile.cache(source, self._cell_number(), raw_code=source)
        tree = shell.transform_ast(shell.compile.ast_parse(source, filename=file))
        with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
            shell.compile(tree, file, "exec")  # raises the SyntaxError of a `return`
        return tree, file

    def _cell_number(self) -> int:
        """The n of the running In [n]: from the nearest caller that is a cell."""
        numbers = getattr(self.shell.compile, "_filename_map", {})
        files = (frame.f_code.co_filename for frame, _ in walk_stack(sys._getframe(1)))
        cells = (numbers[file] for file in files if file in numbers)
        return int(next(cells, self.shell.execution_count))

    def _run(
        self, tree: ast.Module, file: str, show: bool, recording: record, copy: Variables = None
    ) -> None:
        """Run the cell's statements in the user's namespace, or a copy; display the last value."""
        __tracebackhide__ = True
        shell = self.shell
        spaces = (shell.user_global_ns, shell.user_ns) if copy is None else (copy, copy)
        show = show and shell.ast_node_interactivity.startswith("last")
        last = tree.body[-1] if show and tree.body else None
        codes, values = [], list[Any]()
        with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
            for node in tree.body:
                if node is last and isinstance(node, ast.Expr):
                    codes.append(shell.compile(ast.Expression(node.value), file, "eval"))
                else:
                    codes.append(shell.compile(ast.Module([node], []), file, "exec"))
        if any(code.co_flags & inspect.CO_COROUTINE for code in codes):
            in_own_loop(_awaited(codes, spaces, values))
        else:
            for code in codes:
                recording.look_for_torch()  # the previous statement may have imported it
                values.append(eval(code, *spaces))
        if isinstance(last, ast.Expr):
            with recording.unseen():
                sys.displayhook(values[-1])

    @magic_arguments()
    @argument("name", nargs="*", help="the variable that holds the tape; default: the latest tape")
    @line_magic
    def tape(self, line: str) -> Tape | BothTapes:
        """Show a tape again, including everything recorded since."""
        names = parsed(self.tape, line).name
        if not names:
            if self.latest is None:
                raise UsageError(
                    "%tape: there is no tape yet. To record one, write %%autograd at the top of a cell."
                )
            return self.latest
        name, user = names[0], self.shell.user_ns
        tapes = [n for n in user if n[:1] != "_" and isinstance(user[n], Tape | BothTapes)]
        known = f" The tapes here are: {', '.join(tapes)}." if tapes else ""
        if len(names) > 1:
            raise UsageError(f"%tape: one tape at a time, like  %tape {name}.{known}")
        known = known or " To record one, write %%autograd at the top of a cell."
        if name not in user:
            raise UsageError(f"%tape: there is no tape called {name}.{known}")
        if not isinstance(user[name], Tape | BothTapes):
            raise UsageError(f"%tape: {name} is {_with_article(user[name])}, not a tape.{known}")
        return user[name]

    @line_magic
    def chain(self, line: str) -> Chain:
        """Show the grad_fn chain of a tensor, down to the leaves that get a gradient.

            %chain z

        z    a tensor, or an expression for one
        """
        expression = line.strip()
        if not expression:
            raise UsageError("%chain: which tensor? For example: %chain z")
        z = self._value(expression, "%chain")
        if not isinstance(z, tensor_kinds()):
            raise UsageError(f"%chain: {expression} is {_with_article(z)}, not a tensor.")
        return Chain(z, self.shell.user_ns)

    @line_magic
    def compare(self, line: str) -> Any:
        """Compare hand-derived gradients with the engine's.

            %compare z x1=y2 x2=y2+1

        z            the tensor to differentiate
        x1=..., ...  the name of a tensor, such as x1, model.weight or params["w"], and an expression
                     for its gradient
        """
        tensor, named = gradients(line)
        derived: dict[str, Any] = {}
        written: dict[str, Any] = {}  # tensors that are no variables, by the expression for them
        for name, expression in named:
            name = name.removesuffix(".grad")
            if name in derived:
                raise UsageError(f"%compare: {name} is given twice.")
            if "[" in name:
                written[name] = of = self._value(name, "%compare")
                if not isinstance(of, tensor_kinds()):
                    raise UsageError(f"%compare: {name} is {_with_article(of)}, not a tensor.")
            derived[name] = self._value(expression, "%compare")
        z = self._value(tensor, "%compare")
        return compare_in({**self.shell.user_ns, **written}, z, derived)

    @line_magic
    def gradcheck(self, line: str) -> GradcheckReport:
        """Compare the gradients of a function with central differences.

            %gradcheck f x
            %gradcheck f x w

        f            a function of tensors, or an expression for one
        x, w, ...    its inputs: floating-point tensors, as names or as expressions without
                     spaces. The check computes with copies in double precision, because
                     differences of float32 numbers are not accurate. No `.grad` is changed. For tensors
                     of PyTorch, PyTorch's own gradcheck compares
        """
        terms = [term.rstrip(",") for term in words_of(line)]
        if len(terms) < 2:
            raise UsageError("%gradcheck: write the function, then its inputs: %gradcheck f x")
        f = self._value(terms[0], "%gradcheck")
        if not callable(f) or isinstance(f, Tensor):
            raise UsageError(
                f"%gradcheck: {terms[0]} is {_with_article(f)}, not a function. The function comes first, then "
                "the tensors that it takes: %gradcheck f x"
            )
        xs = [self._value(term, "%gradcheck") for term in terms[1:]]
        if not any(map(is_floating_tensor, xs)):
            raise UsageError(
                f"%gradcheck: there is nothing to differentiate with respect to: {terms[1]} is {_with_article(xs[0])}, "
                "not a floating-point tensor."
            )
        return gradcheck_report(f, terms, xs)

    def _value(self, expression: str, magic: str) -> Any:
        """The value of the user's expression; raises an error with an explanation if it is invalid."""
        __tracebackhide__ = True
        option = re.search(r"(?:^|\s)--(\w[\w-]*)", expression)
        if option and option[1] not in self.shell.user_ns:
            raise UsageError(
                f"{magic} has no option --{option[1]}. {magic}? shows how to write the line."
            )
        try:
            return self.shell.ev(expression)
        except SyntaxError:
            raise UsageError(
                f"{magic}: {expression!r} is not a valid expression. {magic}? shows how to write the line."
            ) from None
        except NameError as error:
            *_, (frame, _) = walk_tb(error.__traceback__)
            if frame.f_code.co_filename != "<string>":
                raise  # raised inside a function of the user
            known = variables(self.shell)
            near = difflib.get_close_matches(error.name or "", known, n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]}?" if near else ""
            remedy = remedy or "Have you run the cell that defines it?"
            raise UsageError(f"{magic}: there is nothing called {error.name}. {remedy}") from None


def _with_article(value: Any) -> str:
    """ "a Tensor", "an int", "None": the type of a value, in words."""
    if value is None:
        return "None"
    name = f"tensor of {value.array.dtype}" if isinstance(value, Tensor) else type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _imports_torch(node: ast.AST) -> bool:
    """Is it `import torch`, or `from torch import nn`?"""
    names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    return any(name.partition(".")[0] == "torch" for name in names)


async def _awaited(
    codes: list[CodeType], spaces: tuple[dict[str, Any], dict[str, Any]], values: list[Any]
) -> None:
    """Run the statements of a cell that awaits something, and add their values to a list.

    They are not returned: asyncio's Runner takes the repr of the result, which would be recorded.
    """
    __tracebackhide__ = True
    for code in codes:
        result = eval(code, *spaces)
        values.append(await result if code.co_flags & inspect.CO_COROUTINE else result)


def in_own_loop(cell: Coroutine[None, None, None]) -> None:
    """Run a coroutine to completion now, even while the kernel's event loop is running."""
    __tracebackhide__ = True
    outer = asyncio._get_running_loop()
    task = None if outer is None else asyncio.current_task()
    # From Python 3.14 on, a thread is in one task at a time, whatever the loop.
    if task is not None:
        asyncio.tasks._leave_task(outer, task)  # type: ignore[arg-type]
    asyncio._set_running_loop(None)
    try:
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            runner.run(cell)
    finally:
        asyncio._set_running_loop(outer)
        if task is not None:
            asyncio.tasks._enter_task(outer, task)  # type: ignore[arg-type]


# ------------------------------------------------------------------- a separate page


def _open_page(tape: Tape) -> None:
    """Open the tape as a page in the user's browser; if there is none, print where the page is."""
    folder = Path(tempfile.mkdtemp(prefix="minigrad-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    page = tape.save(folder / f"{tape.name}.html")
    if not webbrowser.open(page.as_uri()):
        print(f"No browser could be opened. Until this session ends, the page is in {page}")

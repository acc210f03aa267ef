"""The magics: one short method for each, whose docstring is the learner's help.

    %%autograd [NAME]      run the cell, record it, show the tape
    %tape [NAME]           show a tape again
    %chain z               the grad_fn chain of a tensor
    %compare z x1=... ...  hand-derived gradients against the engine's

`%%autograd?` shows the help. A cell under `%%autograd` runs as any cell does: through
the shell, so its line numbers, its last expression and its errors are those that the
learner expects.
"""

from __future__ import annotations

import ast
import sys
from types import FrameType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from minigrad.tape.chain import Chain
from minigrad.tape.record import Tape, record
from minigrad.tensor import Tensor


@magics_class
class AutogradMagics(Magics):
    """The magics of `%load_ext minigrad`."""

    latest: Tape | None = None

    @property
    def session(self) -> Any:
        """The shell that the learner types into."""
        return self.shell

    @magic_arguments()
    @argument("name", nargs="?", default="tape", help="the variable that the tape is bound to")
    @cell_magic
    def autograd(self, line: str, cell: str) -> None:
        """Run the cell, record its operations and backward passes, and show the tape.

        The tape is a picture of both passes: data flows down, gradients flow up. It is
        bound to NAME (`tape`, if none is given), so that one can go on with it:

            tape.steps(z)           walk a backward pass, node by node
            tape.save("z.svg")      keep the picture (.svg .png .html .txt .json)

        If the cell raises, the tape up to the error is shown above the error.
        """
        __tracebackhide__ = True  # a traceback is the learner's, and starts in the cell
        name = parse_argstring(self.autograd, line).name
        if not name.isidentifier():
            raise UsageError(
                f"%%autograd: a tape is bound to a variable name, and {name!r} is none."
            )
        tree, file = self._parse(cell)
        recording = record(name, namespace=self.session.user_ns)
        error: BaseException | None = None
        tape = recording.__enter__()
        try:
            self._run(tree, file, show=not _ends_silently(cell))
        except BaseException as e:
            error = e
            raise
        finally:
            recording.__exit__(type(error) if error else None, error, None)
            self.session.user_ns[name] = self.latest = tape
            display(tape)

    def _parse(self, cell: str) -> tuple[ast.Module, str]:
        """The cell's code, numbered as the learner sees it, and the file name it goes by.

        The magic's own line is line 1 of the cell. The name is one that IPython knows, so
        that a traceback shows "Cell In[4], line 3" and the line's text.
        """
        shell = self.session
        source = "\n" + shell.transform_cell(cell)
        file = shell.compile.cache(source, self._cell_number(), raw_code=source)
        return shell.transform_ast(shell.compile.ast_parse(source, filename=file)), file

    def _cell_number(self) -> int:
        """The n of the In [n] that is running: the nearest caller that is a cell."""
        numbers = getattr(self.session.compile, "_filename_map", {})
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename in numbers:
                return int(numbers[frame.f_code.co_filename])
            frame = frame.f_back
        return int(self.session.execution_count)

    def _run(self, tree: ast.Module, file: str, show: bool) -> None:
        """Run the cell's statements in the learner's namespace, the last value displayed."""
        __tracebackhide__ = True
        shell = self.session
        show = show and shell.ast_node_interactivity.startswith("last")
        for node in tree.body:
            if show and node is tree.body[-1] and isinstance(node, ast.Expr):
                # Compiled as "single", an expression's value goes to the shell's display.
                code = shell.compile(ast.Interactive([node]), file, "single")
            else:
                code = shell.compile(ast.Module([node], []), file, "exec")
            exec(code, shell.user_global_ns, shell.user_ns)

    @magic_arguments()
    @argument("name", nargs="?", help="the variable that holds the tape; the latest, if left out")
    @line_magic
    def tape(self, line: str) -> Tape:
        """Show a tape again, with all that has happened on it since."""
        name = parse_argstring(self.tape, line).name
        found = self.latest if name is None else self.session.user_ns.get(name)
        if not isinstance(found, Tape):
            what = "there is no tape yet" if name is None else f"{name} is no tape"
            raise UsageError(f"%tape: {what}. Record one: write %%autograd over a cell.")
        return found

    @line_magic
    def chain(self, line: str) -> Chain:
        """Show the grad_fn chain of a tensor, down to the leaves that get a gradient.

            %chain z

        z    a tensor, or an expression that gives one
        """
        expression = line.strip()
        if not expression:
            raise UsageError("%chain: which tensor? For example: %chain z")
        z = self.session.ev(expression)
        if not isinstance(z, Tensor):
            raise UsageError(f"%chain: {expression} is a {type(z).__name__}, not a tensor.")
        return Chain(z, self.session.user_ns)

    @line_magic
    def compare(self, line: str) -> Any:
        """Compare hand-derived gradients with the engine's.

            %compare z x1=y2 x2=y2+1

        z            the tensor that is differentiated
        x1=..., ...  for a leaf, by its name: an expression for its gradient. An
                     expression with spaces in it goes into parentheses or quotes
        """
        from minigrad.teach.compare import compare_in

        terms = _split(line)
        if len(terms) < 2:
            raise UsageError("%compare: write the tensor, then each gradient: %compare z x1=y2")
        derived: dict[str, Any] = {}
        for term in terms[1:]:
            name, equals, expression = term.partition("=")
            if not equals or not name.isidentifier() or not expression:
                raise UsageError(f"%compare: {term!r} is not of the form name=expression.")
            derived[name] = self.session.ev(expression)
        return compare_in(self.session.user_ns, self.session.ev(terms[0]), derived)


def _ends_silently(cell: str) -> bool:
    """Does the cell end on a semicolon, which says: do not show the last value?"""
    return cell.rstrip().endswith(";")


def _split(line: str) -> list[str]:
    """The words of a line; what stands in brackets or quotes belongs together.

    >>> _split("z x1=(a + 1) x2=f(b, c)")
    ['z', 'x1=(a + 1)', 'x2=f(b, c)']
    """
    words: list[str] = []
    word, depth, quote = "", 0, ""
    for c in line:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if c.isspace() and not depth and not quote:
            if word:
                words.append(word)
            word = ""
        else:
            word += c
    return [*words, word] if word else words

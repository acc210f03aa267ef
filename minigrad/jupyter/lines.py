"""Parses the line of a magic: words, options, and name=expression.

A line that cannot be parsed raises a UsageError. It names the word that is wrong and shows the
correct line, with the user's own words.
"""

import keyword
import re
from itertools import takewhile
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import parse_argstring

AUTOGRAD = "%%autograd [NAME] [--engine graph|tape|recursive] [--both] [--no-widget] [--open]"


def words_of(line: str) -> list[str]:
    """The words of a line; text in brackets or quotes stays together.

    >>> words_of("z x1=(a + 1) x2=f(b, c)")
    ['z', 'x1=(a + 1)', 'x2=f(b, c)']
    """
    words = [""]
    depth, quote = 0, ""
    for c in line:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        else:
            depth += (c in "([{") - (c in ")]}")
        if c.isspace() and not depth and not quote:
            words.append("")
        else:
            words[-1] += c
    return [word for word in words if word]


def parsed(magic: Any, line: str) -> Any:
    """The options of a line; turns the parser's errors into helpful ones."""
    try:
        return parse_argstring(magic, line)
    except (UsageError, ValueError) as error:  # ValueError: a missing closing quote
        name = magic.__name__
        form = AUTOGRAD if name == "autograd" else f"%{name} [NAME]"
        raise UsageError(f"{form.split()[0]}: {error}. Write  {form}") from None


def tape_name(words: list[str]) -> str:
    """The single name for the tape."""
    if not words:
        return "tape"
    joined = "_".join(filter(None, (re.sub(r"\W+", "_", word).strip("_") for word in words)))
    if len(words) > 1:
        raise UsageError(
            f"%%autograd: a tape has one name, and {' '.join(words)!r} are {len(words)} words. "
            f"Write  %%autograd {joined}"
        )
    [name] = words
    if not name.isidentifier() or keyword.iskeyword(name):
        form = f"%%autograd {joined}" if joined.isidentifier() and joined != name else AUTOGRAD
        raise UsageError(
            f"%%autograd: a tape is bound to a variable name, and {name!r} is not one. Write  {form}"
        )
    return name


def gradients(terms: list[str]) -> list[tuple[str, str]]:
    """The (name, expression) of each term; raises an error that explains a term of another form."""
    found: list[tuple[str, str]] = []
    for k, term in enumerate(terms):
        name, equals, expression = term.partition("=")
        after = terms[k + 1] if k + 1 < len(terms) else "..."
        if equals and not expression and name.isidentifier():  # a= b
            _raise_for_space(name, after)
        if term.startswith("=") and not found:
            raise UsageError("%compare: a name is missing before the =, as in  %compare z x1=y2")
        if term.isidentifier() and after.startswith("="):  # a =b, a = b
            value = after[1:] or (terms[k + 2] if k + 2 < len(terms) else "...")
            _raise_for_space(term, value)
        if found and not equals:  # a=b + 1
            last, begun = found[-1]
            more = takewhile(lambda word: not re.match(r"\w+=[^=]", word), terms[k:])
            rest = " ".join([begun, *more])
            raise UsageError(
                f"%compare: {term!r} is not of the form name=expression. Put an expression with "
                f"spaces into parentheses:  {last}=({rest})"
            )
        if not equals or not re.fullmatch(r"[^\W\d]\w*(\.\w+|\[[^]]*])*", name) or not expression:
            form = "is not of the form name=expression, as in  %compare z x1=y2"
            raise UsageError(f"%compare: {term!r} {form}")
        if expression.endswith(","):
            raise UsageError(
                "%compare: gradients are separated by spaces, not by commas:  "
                + " ".join(t.rstrip(",") for t in terms)
            )
        found.append((name, expression))
    return found


def _raise_for_space(name: str, expression: str) -> None:
    raise UsageError(
        f"%compare: there is a space next to the = of {name}. Write it without:  {name}={expression}"
        f"    (put an expression with spaces into parentheses: {name}=(...))"
    )
